#include "engine/jinja/tests.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "engine/jinja/filters.h"
#include "engine/jinja/operators.h"
#include "engine/jinja/print.h"
#include "engine/jinja/text_tools.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

bool is_integer_value(const Value& value) {
  return value.is(Kind::kInt);
}
bool is_float_value(const Value& value) {
  return value.is(Kind::kFloat);
}
bool is_number_value(const Value& value) {
  return value.is_number();
}
bool is_bool_value(const Value& value) {
  return value.is(Kind::kBool);
}
bool is_true_value(const Value& value) {
  return value.is(Kind::kBool) && value.as_bool();
}
bool is_false_value(const Value& value) {
  return value.is(Kind::kBool) && !value.as_bool();
}
bool is_none(const Value& value) {
  return value.is(Kind::kNone);
}
bool is_defined(const Value& value) {
  return !value.is(Kind::kUndefined);
}
bool is_undefined(const Value& value) {
  return value.is(Kind::kUndefined);
}
bool is_string(const Value& value) {
  return value.is(Kind::kString);
}
bool is_mapping(const Value& value) {
  return value.is(Kind::kDict);
}
bool is_iterable(const Value& value) {
  return value.is(Kind::kSequence) || value.is(Kind::kDict) || value.is(Kind::kString) || value.is(Kind::kUndefined) ||
         value.is(Kind::kLoop);
}
bool is_sequence(const Value& value) {
  if (value.is(Kind::kSequence)) return value.sequence().has_subscripts();
  return value.is(Kind::kString) || value.is(Kind::kDict) || value.is(Kind::kUndefined);
}
bool is_callable(const Value& value) {
  // Python's undefined has a __call__, which only raises.
  return value.is(Kind::kCallable) || value.is(Kind::kLoop) || value.is(Kind::kUndefined);
}
bool is_escaped(const Value& value) {
  return value.is(Kind::kString) && value.text().is_markup();
}

constexpr std::array<std::pair<std::string_view, bool (*)(const Value&)>, 15> kKindTests = {{
    {"boolean", is_bool_value},
    {"callable", is_callable},
    {"defined", is_defined},
    {"escaped", is_escaped},
    {"false", is_false_value},
    {"float", is_float_value},
    {"integer", is_integer_value},
    {"iterable", is_iterable},
    {"mapping", is_mapping},
    {"none", is_none},
    {"number", is_number_value},
    {"sequence", is_sequence},
    {"string", is_string},
    {"true", is_true_value},
    {"undefined", is_undefined},
}};

constexpr std::array<std::pair<std::string_view, Comparison>, 16> kComparisonTests = {{
    {"==", Comparison::kEqual},
    {"eq", Comparison::kEqual},
    {"equalto", Comparison::kEqual},
    {"!=", Comparison::kNotEqual},
    {"ne", Comparison::kNotEqual},
    {">", Comparison::kGreater},
    {"gt", Comparison::kGreater},
    {"greaterthan", Comparison::kGreater},
    {"ge", Comparison::kGreaterEqual},
    {">=", Comparison::kGreaterEqual},
    {"<", Comparison::kLess},
    {"lt", Comparison::kLess},
    {"lessthan", Comparison::kLess},
    {"<=", Comparison::kLessEqual},
    {"le", Comparison::kLessEqual},
    {"in", Comparison::kIn},
}};

using OtherTest = Result<bool> (*)(Runtime& runtime, const Value& value, const Arguments& arguments);

Result<bool> remainder_is(Runtime& runtime, const Value& value, const Value& divisor, int64_t wanted) {
  SLUICE_ASSIGN_OR_RETURN(const Value rest, apply_binary(runtime, BinaryOperator::kModulo, value, divisor));
  return is_equal(runtime, rest, Value(wanted));
}

Result<bool> odd_test(Runtime& runtime, const Value& value, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("odd", arguments, {}).status());
  return remainder_is(runtime, value, Value(int64_t{2}), 1);
}

Result<bool> even_test(Runtime& runtime, const Value& value, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("even", arguments, {}).status());
  return remainder_is(runtime, value, Value(int64_t{2}), 0);
}

Result<bool> divisibleby_test(Runtime& runtime, const Value& value, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("divisibleby", arguments, {"num"}, 1));
  return remainder_is(runtime, value, *bound[0], 0);
}

Result<bool> sameas_test(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("sameas", arguments, {"other"}, 1));
  return value.is_same(*bound[0]);
}

Result<bool> has_case(Runtime& runtime, const Value& value, LetterCase wanted) {
  SLUICE_ASSIGN_OR_RETURN(const Text text, to_text(runtime.budget(), value));
  return has_only_case(text, wanted);
}

Result<bool> lower_test(Runtime& runtime, const Value& value, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("lower", arguments, {}).status());
  return has_case(runtime, value, LetterCase::kLower);
}

Result<bool> upper_test(Runtime& runtime, const Value& value, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("upper", arguments, {}).status());
  return has_case(runtime, value, LetterCase::kUpper);
}

Result<bool> filter_test(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("filter", arguments, {}).status());
  return value.is(Kind::kString) && is_filter(value.bytes());
}

Result<bool> test_test(Runtime& /*runtime*/, const Value& value, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("test", arguments, {}).status());
  return value.is(Kind::kString) && is_test(value.bytes());
}

constexpr std::array<std::pair<std::string_view, OtherTest>, 8> kOtherTests = {{{"divisibleby", divisibleby_test},
                                                                                {"even", even_test},
                                                                                {"filter", filter_test},
                                                                                {"lower", lower_test},
                                                                                {"odd", odd_test},
                                                                                {"sameas", sameas_test},
                                                                                {"test", test_test},
                                                                                {"upper", upper_test}}};

template <typename Table>
auto found_in(const Table& table, std::string_view name) {
  using Entry = typename Table::value_type::second_type;
  for (const auto& [candidate, entry] : table) {
    if (candidate == name) return std::optional<Entry>(entry);
  }
  return std::optional<Entry>();
}

}  // namespace

bool is_test(std::string_view name) {
  return found_in(kKindTests, name) || found_in(kComparisonTests, name) || found_in(kOtherTests, name);
}

Result<bool> apply_test(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments) {
  if (const auto test = found_in(kKindTests, name)) {
    SLUICE_RETURN_IF_ERROR(bind(name, arguments, {}).status());
    return (*test)(value);
  }
  if (const auto comparison = found_in(kComparisonTests, name)) {
    SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"other"}, 1));
    return compare(runtime, *comparison, value, *bound[0]);
  }
  if (const auto test = found_in(kOtherTests, name)) return (*test)(runtime, value, arguments);
  return wrong_use("there is no test \"" + std::string(name) + "\"");
}

}  // namespace sluice::jinja
