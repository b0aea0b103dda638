#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/jinja/ast.h"
#include "engine/jinja/runtime.h"

namespace sluice::jinja {

// Python's operators. Where Python raises they are FAILED_PRECONDITION.

Result<Value> apply_binary(Runtime& runtime, BinaryOperator binary, const Value& left, const Value& right);
Result<Value> negate(const Value& value);
Result<bool> compare(Runtime& runtime, Comparison comparison, const Value& left, const Value& right);
Result<bool> is_equal(Runtime& runtime, const Value& left, const Value& right);
Result<bool> is_less(Runtime& runtime, const Value& left, const Value& right);
/// Whether `item` is in `container`.
Result<bool> contains(Runtime& runtime, const Value& container, const Value& item);

/// What a `for` goes through: the items, the keys of a dict, the characters of a string, nothing for undefined. Uses a
/// generator up.
Result<std::vector<Value>> items_of(Runtime& runtime, const Value& value);

/// `text`, `count` times.
Result<Text> repeat(Runtime& runtime, const Text& text, int64_t count);
/// &, <, >, ' and " as HTML writes them; markup as it is.
Text escape_html(const Text& text);

}  // namespace sluice::jinja
