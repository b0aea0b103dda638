#include "engine/jinja/string_literal.h"

#include <charconv>

#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

/// Escapes of one letter; empty for others.
std::string_view simple_escape(char letter) {
  switch (letter) {
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case 'r':
      return "\r";
    case '\\':
      return "\\";
    case '\'':
      return "'";
    case '"':
      return "\"";
    case 'a':
      return "\a";
    case 'b':
      return "\b";
    case 'f':
      return "\f";
    case 'v':
      return "\v";
    default:
      return "";
  }
}

bool is_octal(char digit) {
  return digit >= '0' && digit <= '7';
}

size_t hex_digits_of(char letter) {
  return letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
}

class Unescaper {
 public:
  explicit Unescaper(std::string_view literal) : literal_(literal) {}

  Result<std::string> run() {
    while (at_ < literal_.size()) {
      if (literal_[at_] == '\\' && at_ + 1 < literal_.size()) {
        SLUICE_RETURN_IF_ERROR(take_escape());
      } else {
        out_ += literal_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  Status take_escape() {
    const char letter = literal_[at_ + 1];
    if (letter == 'N') return invalid_argument("a string has an escape \\N, which is not supported");
    if (hex_digits_of(letter) > 0) return take_hex(hex_digits_of(letter));
    if (is_octal(letter)) {
      take_octal();
      return {};
    }
    const std::string_view simple = simple_escape(letter);
    at_ += simple.empty() && letter != '\n' ? 1 : 2;
    // An unknown escape is no escape: the backslash stays.
    if (!simple.empty()) {
      out_ += simple;
    } else if (letter != '\n') {
      out_ += '\\';
    }
    return {};
  }

  Status take_hex(size_t digits) {
    uint32_t code = 0;
    const std::string_view number = literal_.substr(at_ + 2, digits);
    const auto read = std::from_chars(number.data(), number.data() + number.size(), code, 16);
    const bool is_whole = number.size() == digits && read.ec == std::errc() && read.ptr == number.data() + digits;
    const bool is_character = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    if (!is_whole || !is_character) return invalid_argument("a string has an escape that names no character");
    append_utf8(out_, code);
    at_ += 2 + digits;
    return {};
  }

  void take_octal() {
    uint32_t code = 0;
    size_t size = 1;
    for (; size <= 3 && at_ + size < literal_.size() && is_octal(literal_[at_ + size]); ++size) {
      code = code * 8 + static_cast<uint32_t>(literal_[at_ + size] - '0');
    }
    append_utf8(out_, code);
    at_ += size;
  }

  const std::string_view literal_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> unescape(std::string_view literal) {
  return Unescaper(literal).run();
}

}  // namespace sluice::jinja
