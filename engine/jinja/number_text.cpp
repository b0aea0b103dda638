#include "engine/jinja/number_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_space(static_cast<uint8_t>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && is_space(static_cast<uint8_t>(text.back()))) text.remove_suffix(1);
  return text;
}

/// Nothing where a "_" isn't between two digits.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const auto is_word = [&](size_t at) {
      return at < text.size() && std::isalnum(static_cast<uint8_t>(text[at])) != 0;
    };
    if (i == 0 || !is_word(i - 1) || !is_word(i + 1)) return std::nullopt;
  }
  return out;
}

int base_of_prefix(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  const char letter = static_cast<char>(std::tolower(static_cast<uint8_t>(text[1])));
  return letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
}

std::string with_exponent(std::string digits, int exponent) {
  if (digits.size() > 1) digits.insert(1, ".");
  const std::string size = std::to_string(std::abs(exponent));
  return digits + (exponent < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
}

std::string without_exponent(std::string digits, int exponent) {
  if (exponent < 0) return "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0') + ".0";
  return digits.insert(whole, ".");
}

}  // namespace

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer{};
  const auto written =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(number), std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<size_t>(written.ptr - buffer.data()));
  const size_t e = text.find('e');
  std::string digits(text.substr(0, 1));
  if (e > 2) digits += text.substr(2, e - 2);
  int exponent = 0;
  const size_t sign = text[e + 1] == '+' ? 1 : 0;
  std::from_chars(text.data() + e + 1 + sign, text.data() + text.size(), exponent);
  const std::string minus = std::signbit(number) ? "-" : "";
  const bool is_far = exponent < -4 || exponent >= 16;
  return minus + (is_far ? with_exponent(digits, exponent) : without_exponent(digits, exponent));
}

std::optional<int64_t> parse_int(std::string_view text, int base) {
  text = without_blanks(text);
  const bool is_negative = !text.empty() && text.front() == '-';
  if (is_negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
  const int prefix = base_of_prefix(text);
  if (prefix != 0 && (base == 0 || base == prefix)) {
    text.remove_prefix(2);
    base = prefix;
  }
  const std::optional<std::string> digits = without_underscores(text);
  if (!digits || digits->empty() || digits->front() == '-' || digits->front() == '+') return std::nullopt;
  const std::string number = (is_negative ? "-" : "") + *digits;
  int64_t value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value, base == 0 ? 10 : base);
  if (read.ec != std::errc() || read.ptr != number.data() + number.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  text = without_blanks(text);
  const bool has_plus = !text.empty() && text.front() == '+';
  if (has_plus) text.remove_prefix(1);
  const std::optional<std::string> number = without_underscores(text);
  if (!number || number->empty() || (has_plus && number->front() == '-')) return std::nullopt;
  double value = 0;
  const auto read = std::from_chars(number->data(), number->data() + number->size(), value);
  const bool is_whole = read.ptr == number->data() + number->size();
  if (!is_whole || read.ec == std::errc::invalid_argument) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    const bool is_small = number->find("e-") != std::string::npos || number->find("E-") != std::string::npos;
    value = is_small ? 0.0 : HUGE_VAL;
    if (number->front() == '-') value = -value;
  }
  return value;
}

}  // namespace sluice::jinja
