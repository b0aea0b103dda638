// Filters that give numbers, and the one for what is absent.

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "engine/jinja/filters.h"
#include "engine/jinja/number_text.h"
#include "engine/jinja/operators.h"
#include "engine/jinja/print.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

Result<Value> default_filter(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("default", arguments, {"default_value", "boolean"}));
  const bool is_absent = input.is(Kind::kUndefined) || (flag_argument(bound[1], false) && !is_true(input));
  return is_absent ? bound[0].value_or(Value("", Origin::kTemplate)) : input;
}

std::optional<int64_t> whole_part(double number) {
  const double whole = std::trunc(number);
  if (!(std::abs(whole) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(whole);
}

std::optional<int64_t> int_of(const Value& value, int base) {
  if (value.is(Kind::kInt) || value.is(Kind::kBool)) return value.as_int();
  if (value.is(Kind::kFloat)) return whole_part(value.as_float());
  if (!value.is(Kind::kString)) return std::nullopt;
  if (const std::optional<int64_t> number = parse_int(value.bytes(), base)) return number;
  const std::optional<double> number = parse_float(value.bytes());
  return number ? whole_part(*number) : std::nullopt;
}

Result<Value> int_filter(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("int", arguments, {"default", "base"}));
  SLUICE_ASSIGN_OR_RETURN(const int64_t base, int_argument(bound[1], "base", 10));
  if (base != 0 && (base < 2 || base > 36)) return wrong_use("int: base must be 0 or from 2 to 36");
  if (input.is(Kind::kUndefined)) return used_undefined(input);
  if (const std::optional<int64_t> number = int_of(input, static_cast<int>(base))) return Value(*number);
  return bound[0].value_or(Value(int64_t{0}));
}

Result<Value> float_filter(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("float", arguments, {"default"}));
  if (input.is(Kind::kUndefined)) return used_undefined(input);
  if (input.is_number()) return Value(input.as_double());
  const std::optional<double> number = input.is(Kind::kString) ? parse_float(input.bytes()) : std::nullopt;
  return number ? Value(*number) : bound[0].value_or(Value(0.0));
}

Result<Value> abs_filter(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("abs", arguments, {}).status());
  if (input.is(Kind::kUndefined)) return used_undefined(input);
  if (input.is(Kind::kFloat)) return Value(std::abs(input.as_float()));
  if (!input.is_number()) return wrong_use("bad operand type for abs(): '" + type_name(input) + "'");
  return input.as_int() < 0 ? negate(input) : Result<Value>(Value(input.as_int()));
}

/// To the nearest, and of two that are as near to the even one, of the exact binary number: as Python's round.
double rounded(double number, int64_t precision) {
  if (!std::isfinite(number) || precision > 320) return number;
  if (precision < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-precision));
    return std::isinf(unit) ? 0.0 : std::nearbyint(number / unit) * unit;
  }
  std::array<char, 700> buffer{};
  const int size = std::snprintf(buffer.data(), buffer.size(), "%.*f", static_cast<int>(precision), number);
  return parse_float(std::string_view(buffer.data(), static_cast<size_t>(size))).value_or(number);
}

Result<Value> round_filter(Runtime& /*runtime*/, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("round", arguments, {"precision", "method"}));
  SLUICE_ASSIGN_OR_RETURN(const int64_t precision, int_argument(bound[0], "precision", 0));
  const std::string method = bound[1] && bound[1]->is(Kind::kString) ? bound[1]->bytes() : "common";
  if (input.is(Kind::kUndefined)) return used_undefined(input);
  if (!input.is_number()) return wrong_use("type " + type_name(input) + " doesn't define __round__ method");
  if (method == "common") {
    if (!input.is(Kind::kFloat) && precision >= 0) return Value(input.as_int());
    const double result = rounded(input.as_double(), precision);
    if (input.is(Kind::kFloat)) return Value(result);
    const std::optional<int64_t> whole = whole_part(result);
    return whole ? Result<Value>(Value(*whole)) : wrong_use("an integer is past 64 bits");
  }
  if (method != "ceil" && method != "floor") return wrong_use("method must be common, ceil or floor");
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.as_double() * unit;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

Result<Value> length_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("length", arguments, {}).status());
  if (input.is(Kind::kUndefined)) return Value(int64_t{0});
  if (input.is(Kind::kDict)) return Value(static_cast<int64_t>(input.dict().size()));
  if (input.is(Kind::kLoop)) return Value(static_cast<int64_t>(input.loop().items.size()));
  if (input.is(Kind::kSequence) && input.sequence().has_length()) {
    return Value(static_cast<int64_t>(input.sequence().items.size()));
  }
  if (!input.is(Kind::kString)) return wrong_use("object of type '" + type_name(input) + "' has no len()");
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(input.bytes().size()));
  return Value(static_cast<int64_t>(character_count(input.bytes())));
}

Result<Value> wordcount_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("wordcount", arguments, {}).status());
  SLUICE_ASSIGN_OR_RETURN(const Text text, to_text(runtime.budget(), input));
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(text.size()));
  int64_t count = 0;
  bool is_inside = false;
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text.bytes(), i);
    const bool is_word = is_letter(character.code) || is_numeric(character.code) || character.code == U'_';
    count += is_word && !is_inside ? 1 : 0;
    is_inside = is_word;
    i += character.size;
  }
  return Value(count);
}

constexpr std::array<FilterEntry, 9> kFilters = {{{"abs", abs_filter},
                                                  {"count", length_filter},
                                                  {"d", default_filter},
                                                  {"default", default_filter},
                                                  {"float", float_filter},
                                                  {"int", int_filter},
                                                  {"length", length_filter},
                                                  {"round", round_filter},
                                                  {"wordcount", wordcount_filter}}};

}  // namespace

std::span<const FilterEntry> number_filters() {
  return kFilters;
}

}  // namespace sluice::jinja
