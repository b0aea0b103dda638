#include "engine/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/jinja/number_text.h"
#include "engine/jinja/string_literal.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

/// Every newline as "\n", and without the last one.
std::string with_plain_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    const bool is_return = source[i] == '\r';
    out += is_return ? '\n' : source[i];
    if (is_return && i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

bool is_name_byte(char byte) {
  const auto code = static_cast<uint8_t>(byte);
  return code >= 0x80 || std::isalnum(code) != 0 || byte == '_';
}

bool is_digit_byte(char byte) {
  return byte >= '0' && byte <= '9';
}

/// Longer ones before those they begin with.
constexpr std::array<std::string_view, 26> kOperators = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                         "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                         ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

char closing_of(char opening) {
  return opening == '(' ? ')' : opening == '[' ? ']' : '}';
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)), text_(source_) {}

  Result<std::vector<Token>> run();

 private:
  std::string_view rest() const { return text_.substr(at_); }
  bool sees(std::string_view what) const { return rest().starts_with(what); }
  void add(TokenKind kind, std::string_view text) {
    tokens_.push_back({.kind = kind, .line = line_, .text = std::string(text), .integer = 0, .number = 0});
  }
  void advance(size_t size);
  void skip_blanks();
  size_t blanks_at(size_t index) const;

  void add_data(size_t end, char sign, bool is_variable);
  Status take_tag();
  Status take_comment();
  Status take_raw(size_t body_begin);
  std::optional<size_t> raw_body_begin() const;
  Status take_inside(TokenKind end_kind, std::string_view end);
  bool take_end(TokenKind end_kind, std::string_view end);
  Status take_token();
  bool take_number();
  bool take_float();
  Status take_string();
  Status take_operator();
  Status balance(char bracket);

  const std::string source_;
  const std::string_view text_;
  size_t at_ = 0;
  int32_t line_ = 1;
  bool begins_line_ = true;  ///< the last tag's end took a newline with it
  std::vector<char> open_;   ///< the brackets that wait to be closed
  std::vector<Token> tokens_;
};

void Lexer::advance(size_t size) {
  const std::string_view passed = text_.substr(at_, size);
  line_ += static_cast<int32_t>(std::count(passed.begin(), passed.end(), '\n'));
  at_ += passed.size();
}

size_t Lexer::blanks_at(size_t index) const {
  size_t size = 0;
  while (index + size < text_.size()) {
    const Character character = character_at(text_, index + size);
    if (!is_space(character.code)) break;
    size += character.size;
  }
  return size;
}

void Lexer::skip_blanks() {
  advance(blanks_at(at_));
}

size_t without_blanks_at_end(std::string_view text) {
  size_t size = text.size();
  while (size > 0) {
    const size_t last = size_before(text, size);
    if (!is_space(character_at(text, size - last).code)) break;
    size -= last;
  }
  return size;
}

/// Up to `end`, where a tag with that sign begins.
void Lexer::add_data(size_t end, char sign, bool is_variable) {
  std::string_view data = text_.substr(at_, end - at_);
  if (sign == '-') {
    data = data.substr(0, without_blanks_at_end(data));
  } else if (sign != '+' && !is_variable) {
    const size_t newline = data.rfind('\n');
    const bool has_newline = newline != std::string_view::npos;
    const size_t line_begin = has_newline ? newline + 1 : 0;
    const bool is_blank = without_blanks_at_end(data.substr(line_begin)) == 0;
    if ((has_newline || begins_line_) && is_blank) data = data.substr(0, line_begin);
  }
  if (!data.empty()) add(TokenKind::kData, data);
  advance(end - at_);
}

/// Where the body of the {% raw %} begins that stands here.
std::optional<size_t> Lexer::raw_body_begin() const {
  size_t i = at_ + 2;
  if (i < text_.size() && (text_[i] == '-' || text_[i] == '+')) ++i;
  i += blanks_at(i);
  if (!text_.substr(i).starts_with("raw")) return std::nullopt;
  i += 3;
  i += blanks_at(i);
  if (text_.substr(i).starts_with("%}")) return i + 2;
  if (text_.substr(i).starts_with("-%}")) return i + 3 + blanks_at(i + 3);
  return std::nullopt;
}

Status Lexer::take_raw(size_t body_begin) {
  const int32_t line = line_;
  advance(body_begin - at_);
  begins_line_ = at_ > 0 && text_[at_ - 1] == '\n';
  for (size_t tag = text_.find("{%", at_); tag != std::string_view::npos; tag = text_.find("{%", tag + 1)) {
    const char sign = tag + 2 < text_.size() ? text_[tag + 2] : ' ';
    size_t i = tag + (sign == '-' || sign == '+' ? 3 : 2);
    i += blanks_at(i);
    if (!text_.substr(i).starts_with("endraw")) continue;
    i += 6;
    i += blanks_at(i);
    const bool has_sign = i < text_.size() && (text_[i] == '-' || text_[i] == '+');
    if (!text_.substr(has_sign ? i + 1 : i).starts_with("%}")) continue;
    add_data(tag, sign, /*is_variable=*/false);
    advance(i - at_);
    take_end(TokenKind::kBlockEnd, "%}");
    tokens_.pop_back();
    return {};
  }
  return error_at(line, "missing {% endraw %}");
}

Status Lexer::take_comment() {
  const size_t end = text_.find("#}", at_);
  if (end == std::string_view::npos) return error_at(line_, "missing end of comment tag");
  const bool has_sign = end > at_ && (text_[end - 1] == '-' || text_[end - 1] == '+');
  advance((has_sign ? end - 1 : end) - at_);
  take_end(TokenKind::kBlockEnd, "#}");
  tokens_.pop_back();
  return {};
}

/// The end of a tag, if it stands here, with the whitespace that goes with it.
bool Lexer::take_end(TokenKind end_kind, std::string_view end) {
  const bool has_minus = sees("-");
  const bool has_plus = sees("+") && end_kind == TokenKind::kBlockEnd;
  const size_t sign = has_minus || has_plus ? 1 : 0;
  if (!text_.substr(std::min(at_ + sign, text_.size())).starts_with(end)) return false;
  add(end_kind, end);
  const size_t before = at_ + sign + end.size();
  advance(before - at_);
  if (has_minus) {
    skip_blanks();
  } else if (!has_plus && end_kind == TokenKind::kBlockEnd && sees("\n")) {
    advance(1);
  }
  begins_line_ = at_ > before && text_[at_ - 1] == '\n';
  return true;
}

Status Lexer::take_tag() {
  const char kind = text_[at_ + 1];
  if (kind == '%') {
    if (const std::optional<size_t> raw = raw_body_begin()) return take_raw(*raw);
  }
  const bool has_sign = at_ + 2 < text_.size() && (text_[at_ + 2] == '-' || text_[at_ + 2] == '+');
  if (kind != '#') add(kind == '%' ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, text_.substr(at_, 2));
  advance(has_sign ? 3 : 2);
  if (kind == '#') return take_comment();
  if (kind == '%') return take_inside(TokenKind::kBlockEnd, "%}");
  return take_inside(TokenKind::kVariableEnd, "}}");
}

Status Lexer::take_inside(TokenKind end_kind, std::string_view end) {
  const int32_t line = line_;
  open_.clear();
  while (true) {
    if (open_.empty() && take_end(end_kind, end)) return {};
    if (at_ >= text_.size()) return error_at(line, "missing \"" + std::string(end) + "\"");
    if (const size_t blanks = blanks_at(at_); blanks > 0) {
      advance(blanks);
      continue;
    }
    SLUICE_RETURN_IF_ERROR(take_token());
  }
}

Status Lexer::take_token() {
  if (is_digit_byte(text_[at_])) {
    if (take_float() || take_number()) return {};
    return error_at(line_, "a number has a leading zero or is past 64 bits");
  }
  if (is_name_byte(text_[at_])) {
    size_t size = 1;
    while (size < rest().size() && is_name_byte(rest()[size])) ++size;
    add(TokenKind::kName, rest().substr(0, size));
    advance(size);
    return {};
  }
  if (text_[at_] == '\'' || text_[at_] == '"') return take_string();
  return take_operator();
}

size_t digits_at(std::string_view text, size_t index) {
  size_t size = 0;
  while (index + size < text.size() && (is_digit_byte(text[index + size]) || (size > 0 && text[index + size] == '_'))) {
    ++size;
  }
  return size;
}

bool Lexer::take_float() {
  if (at_ > 0 && text_[at_ - 1] == '.') return false;
  size_t size = digits_at(rest(), 0);
  const size_t whole = size;
  if (size < rest().size() && rest()[size] == '.') {
    const size_t digits = digits_at(rest(), size + 1);
    if (digits > 0) size += 1 + digits;
  }
  if (size < rest().size() && (rest()[size] == 'e' || rest()[size] == 'E')) {
    const bool has_sign = size + 1 < rest().size() && (rest()[size + 1] == '+' || rest()[size + 1] == '-');
    const size_t digits = digits_at(rest(), size + (has_sign ? 2 : 1));
    if (digits > 0) size += (has_sign ? 2 : 1) + digits;
  }
  if (size == whole) return false;
  const std::optional<double> number = parse_float(rest().substr(0, size));
  if (!number) return false;
  add(TokenKind::kFloat, rest().substr(0, size));
  tokens_.back().number = *number;
  advance(size);
  return true;
}

bool Lexer::take_number() {
  size_t size = digits_at(rest(), 0);
  const char letter = rest().size() > 1 ? static_cast<char>(std::tolower(static_cast<uint8_t>(rest()[1]))) : ' ';
  if (rest()[0] == '0' && (letter == 'x' || letter == 'o' || letter == 'b')) {
    size = 2;
    while (size < rest().size() && (std::isxdigit(static_cast<uint8_t>(rest()[size])) != 0 || rest()[size] == '_')) {
      ++size;
    }
  }
  const std::string_view digits = rest().substr(0, size);
  const bool has_leading_zero = digits[0] == '0' && is_digit_byte(letter) && digits.find_first_not_of("0_") < size;
  const std::optional<int64_t> value = parse_int(digits, 0);
  if (!value || has_leading_zero) return false;
  add(TokenKind::kInteger, digits);
  tokens_.back().integer = *value;
  advance(size);
  return true;
}

Status Lexer::take_string() {
  const char quote = text_[at_];
  size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size()) return error_at(line_, "a string has no end");
  const Result<std::string> value = unescape(text_.substr(at_ + 1, end - at_ - 1));
  if (!value.ok()) return error_at(line_, value.status().message());
  add(TokenKind::kString, *value);
  advance(end + 1 - at_);
  return {};
}

Status Lexer::balance(char bracket) {
  if (bracket == '(' || bracket == '[' || bracket == '{') {
    open_.push_back(closing_of(bracket));
  } else if (bracket == ')' || bracket == ']' || bracket == '}') {
    if (open_.empty()) return error_at(line_, std::string("unexpected '") + bracket + "'");
    const char expected = open_.back();
    open_.pop_back();
    if (expected != bracket) {
      return error_at(line_, std::string("unexpected '") + bracket + "', expected '" + expected + "'");
    }
  }
  return {};
}

Status Lexer::take_operator() {
  const auto* const found =
      std::find_if(kOperators.begin(), kOperators.end(), [&](std::string_view candidate) { return sees(candidate); });
  if (found == kOperators.end()) return error_at(line_, std::string("unexpected character '") + text_[at_] + "'");
  if (found->size() == 1) SLUICE_RETURN_IF_ERROR(balance(text_[at_]));
  add(TokenKind::kOperator, *found);
  advance(found->size());
  return {};
}

Result<std::vector<Token>> Lexer::run() {
  while (at_ < text_.size()) {
    size_t tag = text_.find('{', at_);
    while (tag + 1 < text_.size() && tag != std::string_view::npos && text_[tag + 1] != '%' && text_[tag + 1] != '{' &&
           text_[tag + 1] != '#') {
      tag = text_.find('{', tag + 1);
    }
    if (tag == std::string_view::npos || tag + 1 >= text_.size()) {
      add(TokenKind::kData, rest());
      advance(rest().size());
      break;
    }
    const char sign = tag + 2 < text_.size() ? text_[tag + 2] : ' ';
    add_data(tag, sign, /*is_variable=*/text_[tag + 1] == '{');
    SLUICE_RETURN_IF_ERROR(take_tag());
  }
  add(TokenKind::kEnd, "");
  return std::move(tokens_);
}

}  // namespace

Status error_at(int32_t line, std::string_view problem) {
  return invalid_argument("line " + std::to_string(line) + ": " + std::string(problem));
}

Result<std::vector<Token>> tokenize(std::string_view source) {
  return Lexer(with_plain_newlines(source)).run();
}

}  // namespace sluice::jinja
