#include "engine/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "engine/jinja/format.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

std::string_view sign_of(BinaryOperator binary) {
  switch (binary) {
    case BinaryOperator::kAdd:
      return "+";
    case BinaryOperator::kSubtract:
      return "-";
    case BinaryOperator::kMultiply:
      return "*";
    case BinaryOperator::kDivide:
      return "/";
    case BinaryOperator::kFloorDivide:
      return "//";
    case BinaryOperator::kModulo:
      return "%";
    case BinaryOperator::kPower:
      return "**";
  }
  return "";
}

Status wrong_operands(std::string_view sign, const Value& left, const Value& right) {
  if (left.is(Kind::kUndefined)) return used_undefined(left);
  if (right.is(Kind::kUndefined)) return used_undefined(right);
  return wrong_use("unsupported operand type(s) for " + std::string(sign) + ": '" + type_name(left) + "' and '" +
                   type_name(right) + "'");
}

Status too_large() {
  return wrong_use("an integer is past 64 bits");
}

/// Rounds down, as Python does; `b` is neither 0 nor the overflowing -1.
int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Result<Value> int_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return wrong_use("0 has no negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result)) return too_large();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) return too_large();
  }
  return Value(result);
}

Result<Value> int_divide(BinaryOperator binary, int64_t a, int64_t b) {
  if (b == 0) return wrong_use("division by zero");
  if (binary == BinaryOperator::kDivide) return Value(static_cast<double>(a) / static_cast<double>(b));
  if (binary == BinaryOperator::kModulo) return Value(b == -1 ? int64_t{0} : a - floor_divide(a, b) * b);
  if (b == -1 && a == INT64_MIN) return too_large();
  return Value(floor_divide(a, b));
}

Result<Value> int_binary(BinaryOperator binary, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (binary) {
    case BinaryOperator::kAdd:
      return __builtin_add_overflow(a, b, &result) ? Result<Value>(too_large()) : Value(result);
    case BinaryOperator::kSubtract:
      return __builtin_sub_overflow(a, b, &result) ? Result<Value>(too_large()) : Value(result);
    case BinaryOperator::kMultiply:
      return __builtin_mul_overflow(a, b, &result) ? Result<Value>(too_large()) : Value(result);
    case BinaryOperator::kPower:
      return int_power(a, b);
    default:
      return int_divide(binary, a, b);
  }
}

double float_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double float_floor_divide(double a, double b) {
  const double quotient = (a - float_modulo(a, b)) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Result<Value> float_power(double a, double b) {
  if (a == 0 && b < 0) return wrong_use("0.0 has no negative power");
  if (a < 0 && std::floor(b) != b && std::isfinite(a)) return wrong_use("a power would be a complex number");
  const double power = std::pow(a, b);
  if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) return wrong_use("a power is too large");
  return Value(power);
}

Result<Value> float_binary(BinaryOperator binary, double a, double b) {
  const bool divides =
      binary == BinaryOperator::kDivide || binary == BinaryOperator::kFloorDivide || binary == BinaryOperator::kModulo;
  if (divides && b == 0) return wrong_use("division by zero");
  switch (binary) {
    case BinaryOperator::kAdd:
      return Value(a + b);
    case BinaryOperator::kSubtract:
      return Value(a - b);
    case BinaryOperator::kMultiply:
      return Value(a * b);
    case BinaryOperator::kDivide:
      return Value(a / b);
    case BinaryOperator::kFloorDivide:
      return Value(float_floor_divide(a, b));
    case BinaryOperator::kModulo:
      return Value(float_modulo(a, b));
    case BinaryOperator::kPower:
      return float_power(a, b);
  }
  return Value();
}

Result<Value> add_texts(Runtime& runtime, const Text& left, const Text& right) {
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(left.size() + right.size()));
  const bool is_markup = left.is_markup() || right.is_markup();
  Text sum = is_markup ? escape_html(left) : left;
  sum.append(is_markup ? escape_html(right) : right);
  sum.set_markup(is_markup);
  return runtime.text(std::move(sum));
}

bool is_list_or_tuple(const Value& value) {
  if (!value.is(Kind::kSequence)) return false;
  return value.sequence().kind == SequenceKind::kList || value.sequence().kind == SequenceKind::kTuple;
}

Result<Value> add_lists(Runtime& runtime, const Sequence& left, const Sequence& right) {
  std::vector<Value> items = left.items;
  items.insert(items.end(), right.items.begin(), right.items.end());
  return runtime.sequence(left.kind, std::move(items));
}

Result<Value> repeat_list(Runtime& runtime, const Sequence& sequence, int64_t count) {
  const auto times = static_cast<size_t>(std::max<int64_t>(count, 0));
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_values(times, Runtime::list_bytes(sequence.items.size())));
  std::vector<Value> items;
  for (size_t i = 0; i < times && !sequence.items.empty(); ++i) {
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return runtime.sequence(sequence.kind, std::move(items));
}

Result<Value> repeat_value(Runtime& runtime, const Value& value, int64_t count) {
  if (!value.is(Kind::kString)) return repeat_list(runtime, value.sequence(), count);
  SLUICE_ASSIGN_OR_RETURN(Text text, repeat(runtime, value.text(), count));
  return Value(std::move(text));
}

bool is_integer(const Value& value) {
  return value.is(Kind::kInt) || value.is(Kind::kBool);
}

}  // namespace

Result<Text> repeat(Runtime& runtime, const Text& text, int64_t count) {
  const auto times = static_cast<size_t>(std::max<int64_t>(count, 0));
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_values(times, text.size()));
  Text out;
  for (size_t i = 0; i < times && !text.empty(); ++i) out.append(text);
  return out;
}

Text escape_html(const Text& text) {
  if (text.is_markup()) return text;
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text.bytes()[i];
    const std::string_view escape = c == '&'    ? "&amp;"
                                    : c == '<'  ? "&lt;"
                                    : c == '>'  ? "&gt;"
                                    : c == '\'' ? "&#39;"
                                    : c == '"'  ? "&#34;"
                                                : "";
    if (escape.empty()) {
      out.append(text, i, 1);
    } else {
      out.append(escape, text.origin_at(i));
    }
  }
  out.set_markup(true);
  return out;
}

Result<Value> apply_binary(Runtime& runtime, BinaryOperator binary, const Value& left, const Value& right) {
  if (is_integer(left) && is_integer(right)) return int_binary(binary, left.as_int(), right.as_int());
  if (left.is_number() && right.is_number()) return float_binary(binary, left.as_double(), right.as_double());
  const auto repeats = [](const Value& value) { return value.is(Kind::kString) || is_list_or_tuple(value); };
  switch (binary) {
    case BinaryOperator::kAdd:
      if (left.is(Kind::kString) && right.is(Kind::kString)) return add_texts(runtime, left.text(), right.text());
      if (is_list_or_tuple(left) && is_list_or_tuple(right) && left.sequence().kind == right.sequence().kind) {
        return add_lists(runtime, left.sequence(), right.sequence());
      }
      break;
    case BinaryOperator::kMultiply:
      if (repeats(left) && is_integer(right)) return repeat_value(runtime, left, right.as_int());
      if (is_integer(left) && repeats(right)) return repeat_value(runtime, right, left.as_int());
      break;
    case BinaryOperator::kModulo:
      if (left.is(Kind::kString)) return format_percent(runtime, left.text(), right);
      break;
    default:
      break;
  }
  return wrong_operands(sign_of(binary), left, right);
}

Result<Value> negate(const Value& value) {
  if (value.is(Kind::kUndefined)) return used_undefined(value);
  if (value.is(Kind::kFloat)) return Value(-value.as_float());
  if (!is_integer(value)) return wrong_use("bad operand type for unary -: '" + type_name(value) + "'");
  if (value.as_int() == INT64_MIN) return too_large();
  return Value(-value.as_int());
}

}  // namespace sluice::jinja
