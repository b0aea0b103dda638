#include "engine/oniguruma_regex.h"

#include <array>
#include <cstddef>
#include <optional>

namespace sluice::engine {
namespace {

constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view kHexDigit = "0-9A-Fa-f";
constexpr size_t kClassDepthMax = 32;

/// Escapes that mean something else in PCRE2. Its \s, for one, has U+180E besides the White_Space characters.
struct Escape {
  char letter;
  std::string_view outside;   ///< of a class; empty where it is not known
  std::string_view in_class;  ///< empty where a class can't have it
};
constexpr std::array kEscapes = {
    Escape{'s', R"(\p{WSpace})", R"(\p{WSpace})"},
    Escape{'S', R"(\P{WSpace})", R"(\P{WSpace})"},
    Escape{'d', R"(\p{Nd})", R"(\p{Nd})"},
    Escape{'D', R"(\P{Nd})", R"(\P{Nd})"},
    Escape{'w', R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])", kWord},
    Escape{'W', R"([^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])", ""},
    Escape{'h', "[0-9A-Fa-f]", kHexDigit},
    Escape{'H', "[^0-9A-Fa-f]", ""},
    Escape{'v', R"(\x0b)", R"(\x0b)"},
    Escape{'b',
           R"((?:(?<=[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])(?![\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])|)"
           R"((?<![\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])(?=[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])))",
           R"(\x08)"},
};
constexpr std::string_view kSameInBoth = "nrtfaepPAzZ";  // \p{…} among them
constexpr std::string_view kFlags = "imx-";

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_hex_digit(char c) {
  return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9');
}

class Translation {
 public:
  explicit Translation(std::string_view regex) : regex_(regex) {}

  Result<std::string> run() {
    while (at_ < regex_.size()) {
      SLUICE_RETURN_IF_ERROR(outside_class());
    }
    return std::move(out_);
  }

 private:
  Status refuse(std::string_view what) const {
    return invalid_argument("the regular expression has " + std::string(what) + " at byte " + std::to_string(at_) +
                            ", which is not supported");
  }

  std::string_view rest() const { return regex_.substr(at_); }

  void copy(size_t size) {
    out_ += regex_.substr(at_, size);
    at_ += size;
  }

  void replace(size_t size, std::string_view with) {
    out_ += with;
    at_ += size;
  }

  Status outside_class() {
    switch (regex_[at_]) {
      case '\\':
        return escape(false);
      case '[':
        return char_class(0);
      case '(':
        return group();
      case '{':
        return braces();
      default:
        copy(1);
        return {};
    }
  }

  Status escape(bool in_class) {
    if (at_ + 1 == regex_.size()) return refuse("a \\ without a character");
    const char letter = regex_[at_ + 1];
    for (const Escape& known : kEscapes) {
      if (known.letter != letter) continue;
      const std::string_view with = in_class ? known.in_class : known.outside;
      if (with.empty()) return refuse("\\" + std::string(1, letter) + " in a class");
      replace(2, with);
      return {};
    }
    if (letter == 'u') return code_point();
    if (letter == 'x') {
      copy(2);
      return {};
    }
    if (is_letter_or_digit(letter) && kSameInBoth.find(letter) == std::string_view::npos) {
      return refuse("\\" + std::string(1, letter));
    }
    copy(2);
    return {};
  }

  /// \uHHHH
  Status code_point() {
    constexpr size_t kDigits = 4;
    const std::string_view digits = rest().substr(2, kDigits);
    if (digits.size() < kDigits) return refuse("\\u without four digits");
    for (const char c : digits) {
      if (!is_hex_digit(c)) return refuse("\\u without four digits");
    }
    replace(2 + kDigits, "\\x{" + std::string(digits) + "}");
    return {};
  }

  Status group() {
    if (rest().starts_with("(*")) return refuse("(*");
    if (!rest().starts_with("(?")) {
      copy(1);
      return {};
    }
    const size_t flags_end = regex_.find_first_not_of(kFlags, at_ + 2);
    const char end = flags_end == std::string_view::npos ? '\0' : regex_[flags_end];
    if (flags_end > at_ + 2 && (end == ':' || end == ')')) {
      // In Ruby's syntax m lets a dot match a line end, as s does in PCRE2.
      for (const char flag : regex_.substr(at_, flags_end - at_)) out_ += flag == 'm' ? 's' : flag;
      at_ = flags_end;
      return {};
    }
    constexpr std::array<std::string_view, 7> kKnown = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?#"};
    for (const std::string_view known : kKnown) {
      if (!rest().starts_with(known)) continue;
      copy(known.size());
      return {};
    }
    return refuse(rest().substr(0, 3));
  }

  /// {n,m}, or a brace that stands for itself.
  Status braces() {
    const size_t end = regex_.find_first_not_of("0123456789,", at_ + 1);
    const bool is_quantifier = end != std::string_view::npos && regex_[end] == '}' && end > at_ + 1;
    if (!is_quantifier) {
      copy(1);
      return {};
    }
    const std::string_view inner = regex_.substr(at_ + 1, end - at_ - 1);
    const char next = end + 1 < regex_.size() ? regex_[end + 1] : '\0';
    const bool is_fixed = inner.find(',') == std::string_view::npos;
    // To Ruby these are two quantifiers; PCRE2 reads them as one, possessive or lazy.
    if (next == '+' || (next == '?' && is_fixed)) return refuse("a quantifier of a quantifier");
    if (inner.front() == ',' && inner.size() > 1) {
      replace(1, "{0");
      return {};
    }
    copy(end + 1 - at_);
    return {};
  }

  /// A class, or one within a class, which is part of it.
  Status char_class(size_t depth) {
    if (depth > kClassDepthMax) return refuse("a class too deep");
    const bool is_inner = depth > 0;
    replace(1, is_inner ? "" : "[");
    if (at_ < regex_.size() && regex_[at_] == '^') {
      if (is_inner) return refuse("[^ in a class");
      copy(1);
    }
    if (at_ < regex_.size() && regex_[at_] == ']') replace(1, "\\]");
    while (at_ < regex_.size()) {
      const char c = regex_[at_];
      if (c == ']') {
        replace(1, is_inner ? "" : "]");
        return {};
      }
      SLUICE_RETURN_IF_ERROR(in_class(c, depth));
    }
    return refuse("a class without an end");
  }

  Status in_class(char c, size_t depth) {
    if (c == '\\') return escape(true);
    if (rest().starts_with("&&")) return refuse("&&");
    if (rest().starts_with("[:")) {
      const size_t end = rest().find(":]");
      if (end != std::string_view::npos) {
        copy(end + 2);
        return {};
      }
    }
    if (c == '[') return char_class(depth + 1);
    copy(1);
    return {};
  }

  std::string_view regex_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> pcre2_of_oniguruma(std::string_view regex) {
  // From each blank of a long run this would look for the run's end; the first one decides for all of them.
  if (regex == R"(\s+$)") return std::string(R"((?<!\p{WSpace})\p{WSpace}+$)");
  return Translation(regex).run();
}

}  // namespace sluice::engine
