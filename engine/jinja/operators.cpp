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

std::string_view name_of(Comparison comparison) {
  switch (comparison) {
    case Comparison::kLess:
      return "<";
    case Comparison::kLessEqual:
      return "<=";
    case Comparison::kGreater:
      return ">";
    default:
      return ">=";
  }
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

namespace {

Result<bool> equal_sequences(Runtime& runtime, const Sequence& left, const Sequence& right) {
  if (&left == &right) return true;
  const bool is_comparable = left.kind == right.kind && left.has_subscripts();
  if (!is_comparable || left.items.size() != right.items.size()) return false;
  for (size_t i = 0; i < left.items.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const bool equal, is_equal(runtime, left.items[i], right.items[i]));
    if (!equal) return false;
  }
  return true;
}

Result<bool> equal_dicts(Runtime& runtime, const Dict& left, const Dict& right) {
  if (left.size() != right.size()) return false;
  for (const auto& [key, value] : left.entries()) {
    const Value* const other = right.find(key);
    if (other == nullptr) return false;
    SLUICE_ASSIGN_OR_RETURN(const bool equal, is_equal(runtime, value, *other));
    if (!equal) return false;
  }
  return true;
}

bool equal_numbers(const Value& left, const Value& right) {
  const bool are_integers = is_integer(left) && is_integer(right);
  return are_integers ? left.as_int() == right.as_int() : left.as_double() == right.as_double();
}

Result<bool> less_sequences(Runtime& runtime, const Sequence& left, const Sequence& right) {
  for (size_t i = 0; i < std::min(left.items.size(), right.items.size()); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const bool equal, is_equal(runtime, left.items[i], right.items[i]));
    if (!equal) return is_less(runtime, left.items[i], right.items[i]);
  }
  return left.items.size() < right.items.size();
}

Status not_comparable(std::string_view sign, const Value& left, const Value& right) {
  if (left.is(Kind::kUndefined)) return used_undefined(left);
  if (right.is(Kind::kUndefined)) return used_undefined(right);
  return wrong_use("'" + std::string(sign) + "' not supported between instances of '" + type_name(left) + "' and '" +
                   type_name(right) + "'");
}

bool is_ordered(const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return true;
  if (left.is(Kind::kString) && right.is(Kind::kString)) return true;
  return is_list_or_tuple(left) && is_list_or_tuple(right) && left.sequence().kind == right.sequence().kind;
}

Result<bool> compare_order(Runtime& runtime, Comparison comparison, const Value& left, const Value& right) {
  if (!is_ordered(left, right)) return not_comparable(name_of(comparison), left, right);
  const bool swaps = comparison == Comparison::kGreater || comparison == Comparison::kGreaterEqual;
  SLUICE_ASSIGN_OR_RETURN(const bool less, swaps ? is_less(runtime, right, left) : is_less(runtime, left, right));
  if (less || comparison == Comparison::kLess || comparison == Comparison::kGreater) return less;
  return is_equal(runtime, left, right);
}

}  // namespace

Result<bool> is_equal(Runtime& runtime, const Value& left, const Value& right) {
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_steps());
  if (left.is_number() && right.is_number()) return equal_numbers(left, right);
  if (left.kind() != right.kind()) return false;
  if (left.is(Kind::kString)) {
    SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(std::min(left.bytes().size(), right.bytes().size())));
    return left.bytes() == right.bytes();
  }
  if (left.is(Kind::kSequence)) return equal_sequences(runtime, left.sequence(), right.sequence());
  if (left.is(Kind::kDict)) return equal_dicts(runtime, left.dict(), right.dict());
  return left.is_same(right);
}

Result<bool> is_less(Runtime& runtime, const Value& left, const Value& right) {
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_steps());
  if (!is_ordered(left, right)) return not_comparable("<", left, right);
  if (left.is(Kind::kString)) return left.bytes() < right.bytes();
  if (left.is(Kind::kSequence)) return less_sequences(runtime, left.sequence(), right.sequence());
  if (is_integer(left) && is_integer(right)) return left.as_int() < right.as_int();
  return left.as_double() < right.as_double();
}

Result<bool> compare(Runtime& runtime, Comparison comparison, const Value& left, const Value& right) {
  switch (comparison) {
    case Comparison::kEqual:
      return is_equal(runtime, left, right);
    case Comparison::kNotEqual: {
      SLUICE_ASSIGN_OR_RETURN(const bool equal, is_equal(runtime, left, right));
      return !equal;
    }
    case Comparison::kIn:
      return contains(runtime, right, left);
    case Comparison::kNotIn: {
      SLUICE_ASSIGN_OR_RETURN(const bool is_in, contains(runtime, right, left));
      return !is_in;
    }
    default:
      return compare_order(runtime, comparison, left, right);
  }
}

Result<bool> contains(Runtime& runtime, const Value& container, const Value& item) {
  if (container.is(Kind::kString)) {
    if (item.is(Kind::kUndefined)) return used_undefined(item);
    if (!item.is(Kind::kString)) {
      return wrong_use("'in <string>' requires string as left operand, not " + type_name(item));
    }
    SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(container.bytes().size()));
    return container.bytes().find(item.bytes()) != std::string::npos;
  }
  if (container.is(Kind::kDict)) {
    if (item.is(Kind::kDict) || (item.is(Kind::kSequence) && !Dict::is_key(item))) {
      return wrong_use("unhashable type: '" + type_name(item) + "'");
    }
    return container.dict().find(item) != nullptr;
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, container));
  for (const Value& candidate : items) {
    SLUICE_ASSIGN_OR_RETURN(const bool equal, is_equal(runtime, candidate, item));
    if (equal) return true;
  }
  return false;
}

namespace {

Result<std::vector<Value>> characters_of(Runtime& runtime, const Text& text) {
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(Runtime::list_bytes(character_count(text.bytes()))));
  std::vector<Value> characters;
  for (size_t i = 0; i < text.size();) {
    const size_t size = character_at(text.bytes(), i).size;
    Text character = text.slice(i, size);
    character.set_markup(false);
    characters.emplace_back(std::move(character));
    i += size;
  }
  return characters;
}

}  // namespace

Result<std::vector<Value>> items_of(Runtime& runtime, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return std::vector<Value>();
    case Kind::kString:
      return characters_of(runtime, value.text());
    case Kind::kSequence: {
      const Sequence& sequence = value.sequence();
      SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(Runtime::list_bytes(sequence.items.size())));
      if (sequence.kind != SequenceKind::kGenerator) return sequence.items;
      if (std::exchange(sequence.is_used_up, true)) return std::vector<Value>();
      return sequence.items;
    }
    case Kind::kDict: {
      SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(Runtime::list_bytes(value.dict().size())));
      std::vector<Value> keys;
      keys.reserve(value.dict().size());
      for (const auto& entry : value.dict().entries()) keys.push_back(entry.first);
      return keys;
    }
    default:
      return wrong_use("'" + type_name(value) + "' object is not iterable");
  }
}

}  // namespace sluice::jinja
