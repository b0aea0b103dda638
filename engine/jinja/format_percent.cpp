#include <cmath>
#include <optional>
#include <string>

#include "engine/jinja/format.h"
#include "engine/jinja/format_field.h"
#include "engine/jinja/number_text.h"
#include "engine/jinja/print.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

bool is_digit_byte(char c) {
  return c >= '0' && c <= '9';
}

/// "%(name)-5.2f" and the like, one after the other.
class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, const Text& format, const Value& values)
      : runtime_(runtime), format_(format), values_(values) {}

  Result<Value> run();

 private:
  char current() const { return at_ < format_.size() ? format_.bytes()[at_] : '\0'; }
  bool is_tuple() const { return values_.is(Kind::kSequence) && values_.sequence().kind == SequenceKind::kTuple; }
  Status take_conversion();
  Result<Value> next_value();
  Result<std::optional<Value>> take_named_value();
  Result<FieldStyle> take_style();
  Result<std::optional<int64_t>> take_number();
  Result<Text> converted(const Value& value, FieldStyle style);
  Result<Text> converted_number(const Value& value, FieldStyle style);
  Result<Text> converted_character(const Value& value);

  Runtime& runtime_;
  const Text& format_;
  const Value& values_;
  size_t at_ = 0;
  size_t used_ = 0;
  Text out_;
};

Result<Value> PercentFormatter::run() {
  while (at_ < format_.size()) {
    const size_t percent = std::min(format_.bytes().find('%', at_), format_.size());
    out_.append(format_, at_, percent - at_);
    at_ = percent + 1;
    if (percent < format_.size()) SLUICE_RETURN_IF_ERROR(take_conversion());
    if (out_.size() > runtime_.budget().limits().value_bytes_max) return runtime_.text(std::move(out_));
  }
  const size_t given = is_tuple() ? values_.sequence().items.size() : values_.is(Kind::kDict) ? used_ : 1;
  if (used_ < given) return wrong_use("not all arguments converted during string formatting");
  return runtime_.text(std::move(out_));
}

Result<std::optional<Value>> PercentFormatter::take_named_value() {
  if (current() != '(') return std::optional<Value>();
  const size_t end = format_.bytes().find(')', at_);
  if (end == std::string::npos) return wrong_use("incomplete format key");
  if (!values_.is(Kind::kDict)) return wrong_use("format requires a mapping");
  const std::string name = format_.bytes().substr(at_ + 1, end - at_ - 1);
  const Value* const value = values_.dict().find(name);
  if (value == nullptr) return wrong_use("KeyError: '" + name + "'");
  at_ = end + 1;
  return std::optional<Value>(*value);
}

Result<Value> PercentFormatter::next_value() {
  const size_t index = used_++;
  if (is_tuple() && index < values_.sequence().items.size()) return values_.sequence().items[index];
  if (!is_tuple() && index == 0) return values_;
  return wrong_use("not enough arguments for format string");
}

Result<std::optional<int64_t>> PercentFormatter::take_number() {
  if (current() == '*') {
    ++at_;
    SLUICE_ASSIGN_OR_RETURN(const Value value, next_value());
    if (!value.is(Kind::kInt)) return wrong_use("* wants int");
    return std::optional<int64_t>(value.as_int());
  }
  const size_t begin = at_;
  while (is_digit_byte(current())) ++at_;
  if (at_ == begin) return std::optional<int64_t>();
  const std::optional<int64_t> number = parse_int(std::string_view(format_.bytes()).substr(begin, at_ - begin), 10);
  if (!number) return wrong_use("width too big");
  return number;
}

Result<FieldStyle> PercentFormatter::take_style() {
  FieldStyle style;
  style.align = '>';
  for (bool is_flag = true; is_flag;) {
    switch (current()) {
      case '-':
        style.align = '<';
        break;
      case '+':
      case ' ':
        if (style.sign != '+') style.sign = current();
        break;
      case '#':
        style.has_prefix = true;
        break;
      case '0':
        if (style.align != '<') style.align = '=';
        style.fill = Text("0", Origin::kInput);
        break;
      default:
        is_flag = false;
    }
    if (is_flag) ++at_;
  }
  if (style.align == '<') style.fill = Text(" ", Origin::kInput);
  SLUICE_ASSIGN_OR_RETURN(const std::optional<int64_t> width, take_number());
  style.width = width.value_or(0);
  if (current() == '.') {
    ++at_;
    SLUICE_ASSIGN_OR_RETURN(const std::optional<int64_t> precision, take_number());
    style.precision = std::max<int64_t>(precision.value_or(0), 0);
  }
  while (current() == 'h' || current() == 'l' || current() == 'L') ++at_;
  return style;
}

Result<Text> PercentFormatter::converted_number(const Value& value, FieldStyle style) {
  if (!value.is_number()) {
    if (value.is(Kind::kUndefined)) return used_undefined(value);
    return wrong_use(std::string("%") + style.type + " format: a real number is required, not " + type_name(value));
  }
  const bool is_decimal_type = style.type == 'd' || style.type == 'i' || style.type == 'u';
  if (is_decimal_type) style.type = 'd';
  const bool is_integer_type = is_decimal_type || std::string_view("oxX").find(style.type) != std::string_view::npos;
  if (!is_integer_type) {
    style.precision = style.precision.value_or(6);
    return format_number(runtime_, Value(value.as_double()), style);
  }
  style.precision.reset();
  if (!value.is(Kind::kFloat)) return format_number(runtime_, Value(value.as_int()), style);
  const double whole = std::trunc(value.as_float());
  if (!is_decimal_type || !(std::abs(whole) < 9e18)) return wrong_use("an integer is required");
  return format_number(runtime_, Value(static_cast<int64_t>(whole)), style);
}

Result<Text> PercentFormatter::converted_character(const Value& value) {
  if (value.is(Kind::kString) && character_count(value.bytes()) == 1) return value.text();
  if (!value.is(Kind::kInt)) return wrong_use("%c requires int or char");
  const int64_t code = value.as_int();
  if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return wrong_use("%c arg not in range");
  std::string character;
  append_utf8(character, static_cast<char32_t>(code));
  return Text(character, Origin::kInput);
}

Result<Text> PercentFormatter::converted(const Value& value, FieldStyle style) {
  const bool is_text = style.type == 's' || style.type == 'r' || style.type == 'a' || style.type == 'c';
  if (!is_text) return converted_number(value, std::move(style));
  Text text;
  if (style.type == 'c') {
    SLUICE_ASSIGN_OR_RETURN(text, converted_character(value));
  } else {
    SLUICE_ASSIGN_OR_RETURN(text,
                            style.type == 's' ? to_text(runtime_.budget(), value) : to_repr(runtime_.budget(), value));
  }
  style.type = 's';
  if (style.align == '=') style.align = '>';
  style.fill = Text(" ", Origin::kInput);
  return format_text(runtime_, text, style);
}

Status PercentFormatter::take_conversion() {
  SLUICE_ASSIGN_OR_RETURN(std::optional<Value> value, take_named_value());
  SLUICE_ASSIGN_OR_RETURN(FieldStyle style, take_style());
  if (at_ >= format_.size()) return wrong_use("incomplete format");
  style.type = current();
  const size_t type_at = at_++;
  if (style.type == '%') {
    out_.append(format_, type_at, 1);
    return {};
  }
  if (std::string_view("sracdiuoxXeEfFgG").find(style.type) == std::string_view::npos) {
    return wrong_use(std::string("unsupported format character '") + style.type + "'");
  }
  if (!value) {
    SLUICE_ASSIGN_OR_RETURN(value, next_value());
  }
  SLUICE_ASSIGN_OR_RETURN(const Text text, converted(*value, std::move(style)));
  out_.append(text);
  return {};
}

}  // namespace

Result<Value> format_percent(Runtime& runtime, const Text& format, const Value& values) {
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(format.size()));
  return PercentFormatter(runtime, format, values).run();
}

}  // namespace sluice::jinja
