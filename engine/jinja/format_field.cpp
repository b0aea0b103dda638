#include "engine/jinja/format_field.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "engine/jinja/number_text.h"
#include "engine/jinja/operators.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

constexpr int64_t kPrecisionMax = 400;  // more than a float has digits

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

class StyleReader {
 public:
  explicit StyleReader(const Text& specification) : specification_(specification), rest_(specification.bytes()) {}

  Result<FieldStyle> run() {
    read_align();
    if (sees('+') || sees('-') || sees(' ')) style_.sign = take();
    if (sees('#')) style_.has_prefix = take() == '#';
    if (sees('0')) read_zero();
    SLUICE_ASSIGN_OR_RETURN(style_.width, read_number(0));
    if (sees(',') || sees('_')) style_.grouping = take();
    if (sees('.')) {
      take();
      SLUICE_ASSIGN_OR_RETURN(style_.precision, read_number(-1));
      if (*style_.precision < 0) return wrong_use("Format specifier missing precision");
    }
    if (!rest_.empty()) style_.type = take();
    if (!rest_.empty()) return wrong_use("Invalid format specifier '" + specification_.bytes() + "'");
    return style_;
  }

 private:
  bool sees(char c) const { return !rest_.empty() && rest_.front() == c; }
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  void read_align() {
    const size_t first = rest_.empty() ? 0 : character_at(rest_, 0).size;
    if (first < rest_.size() && is_align(rest_[first])) {
      style_.fill = specification_.slice(0, first);
      rest_.remove_prefix(first);
    } else if (rest_.empty() || !is_align(rest_.front())) {
      return;
    }
    style_.align = take();
  }
  void read_zero() {
    take();
    if (style_.align != 0) return;
    style_.fill = Text("0", Origin::kInput);
    style_.align = '=';
  }
  Result<int64_t> read_number(int64_t fallback) {
    size_t size = 0;
    while (size < rest_.size() && rest_[size] >= '0' && rest_[size] <= '9') ++size;
    if (size == 0) return fallback;
    const std::optional<int64_t> number = parse_int(rest_.substr(0, size), 10);
    rest_.remove_prefix(size);
    if (!number) return wrong_use("Too many decimal digits in format string");
    return *number;
  }

  const Text& specification_;
  std::string_view rest_;
  FieldStyle style_;
};

std::string with_groups(std::string digits, char grouping, size_t group) {
  if (grouping == 0) return digits;
  const size_t whole = std::min(digits.find_first_of(".e"), digits.size());
  for (size_t i = whole; i > group;) {
    i -= group;
    digits.insert(i, 1, grouping);
  }
  return digits;
}

std::string printed(const std::string& format, int precision, double number) {
  std::array<char, 1024> buffer{};
  const int size = std::snprintf(buffer.data(), buffer.size(), format.c_str(), precision, number);
  return {buffer.data(), std::min(static_cast<size_t>(size), buffer.size() - 1)};
}

std::string digits_in_base(uint64_t number, char type) {
  const unsigned base = type == 'b' ? 2 : type == 'o' ? 8 : type == 'x' || type == 'X' ? 16 : 10;
  const char* const alphabet = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), alphabet[number % base]);
    number /= base;
  } while (number > 0);
  return digits;
}

/// The digits of a number without its sign.
struct Magnitude {
  bool is_negative = false;
  std::string prefix;
  std::string digits;
};

Magnitude integer_magnitude(int64_t number, const FieldStyle& style) {
  Magnitude magnitude{.is_negative = number < 0, .prefix = "", .digits = ""};
  const uint64_t size = number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  const bool is_decimal_number = style.type == 0 || style.type == 'd' || style.type == 'n';
  magnitude.digits = with_groups(digits_in_base(size, style.type), style.grouping, is_decimal_number ? 3 : 4);
  if (style.has_prefix && !is_decimal_number) magnitude.prefix = std::string("0") + style.type;
  return magnitude;
}

Magnitude float_magnitude(double number, const FieldStyle& style) {
  Magnitude magnitude{.is_negative = std::signbit(number) && !std::isnan(number), .prefix = "", .digits = ""};
  const bool is_percent = style.type == '%';
  const double size = std::abs(number) * (is_percent ? 100 : 1);
  if (style.type == 0 && !style.precision) {
    magnitude.digits = float_text(size);
  } else {
    const char type = is_percent ? 'f' : style.type == 0 ? 'g' : style.type == 'n' ? 'g' : style.type;
    const std::string format = std::string("%") + (style.has_prefix ? "#" : "") + ".*" + type;
    magnitude.digits = printed(format, static_cast<int>(style.precision.value_or(6)), size);
  }
  const bool is_whole = magnitude.digits.find_first_not_of("0123456789") == std::string::npos;
  if (style.type == 0 && style.precision && is_whole) magnitude.digits += ".0";
  magnitude.digits = with_groups(std::move(magnitude.digits), std::isfinite(size) ? style.grouping : 0, 3);
  if (is_percent) magnitude.digits += "%";
  return magnitude;
}

bool is_float_type(char type) {
  return type != 0 && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}

Result<Magnitude> magnitude_of(const Value& number, const FieldStyle& style) {
  if (style.precision && *style.precision > kPrecisionMax) return wrong_use("precision too large");
  const bool is_integer = !number.is(Kind::kFloat);
  if (is_float_type(style.type) || (!is_integer && (style.type == 0 || style.type == 'n'))) {
    return float_magnitude(number.as_double(), style);
  }
  const bool is_known = style.type == 0 || std::string_view("dnboxX").find(style.type) != std::string_view::npos;
  if (!is_integer || !is_known) {
    return wrong_use(std::string("Unknown format code '") + style.type + "' for object of type '" + type_name(number) +
                     "'");
  }
  if (style.precision) return wrong_use("Precision not allowed in integer format specifier");
  return integer_magnitude(number.as_int(), style);
}

}  // namespace

Result<FieldStyle> parse_field_style(const Text& specification) {
  return StyleReader(specification).run();
}

Result<Text> pad(Runtime& runtime, const Text& text, const Text& fill, char align, int64_t width) {
  const int64_t missing = width - static_cast<int64_t>(character_count(text.bytes()));
  if (missing <= 0) return text;
  const int64_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  SLUICE_ASSIGN_OR_RETURN(Text out, repeat(runtime, fill, before));
  out.append(text);
  SLUICE_ASSIGN_OR_RETURN(const Text after, repeat(runtime, fill, missing - before));
  out.append(after);
  return out;
}

Result<Text> format_text(Runtime& runtime, const Text& text, const FieldStyle& style) {
  if (style.type != 0 && style.type != 's') {
    return wrong_use(std::string("Unknown format code '") + style.type + "' for object of type 'str'");
  }
  if (style.align == '=' && style.fill.bytes() != "0") {
    return wrong_use("'=' alignment not allowed in string format specifier");
  }
  const char align = style.align == 0 || style.align == '=' ? '<' : style.align;
  if (!style.precision) return pad(runtime, text, style.fill, align, style.width);
  const size_t size = byte_of_character(text.bytes(), static_cast<size_t>(*style.precision));
  return pad(runtime, text.slice(0, size), style.fill, align, style.width);
}

Result<Text> format_number(Runtime& runtime, const Value& number, const FieldStyle& style) {
  SLUICE_ASSIGN_OR_RETURN(const Magnitude magnitude, magnitude_of(number, style));
  const std::string sign = magnitude.is_negative ? "-" : style.sign == '-' ? "" : std::string(1, style.sign);
  const Text front(sign + magnitude.prefix, Origin::kInput);
  const Text digits(magnitude.digits, Origin::kInput);
  Text whole = front;
  if (style.align == '=') {
    const auto width = style.width - static_cast<int64_t>(front.size());
    SLUICE_ASSIGN_OR_RETURN(const Text padded, pad(runtime, digits, style.fill, '>', width));
    whole.append(padded);
    return whole;
  }
  whole.append(digits);
  return pad(runtime, whole, style.fill, style.align == 0 ? '>' : style.align, style.width);
}

}  // namespace sluice::jinja
