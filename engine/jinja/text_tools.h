#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/status.h"
#include "engine/jinja/runtime.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {

// What Python's str methods do with text, keeping for each byte who wrote it.

enum class Side { kLeft, kRight, kBoth };

/// Without the characters of `characters` at the ends, or without blanks there.
Text strip(const Text& text, Side side, const std::optional<Text>& characters);

/// `count` occurrences at most, all of them where it is negative.
Result<Text> replace(Runtime& runtime, const Text& text, const Text& from, const Text& to, int64_t count);

/// At `separator`, or at blanks; from the right where `is_right`; `count` cuts at most, no limit where it is negative.
Result<std::vector<Value>> split(Runtime& runtime, const Text& text, const std::optional<Text>& separator,
                                 int64_t count, bool is_right);
std::vector<Text> split_lines(const Text& text, bool keeps_ends);

Result<Text> join(Runtime& runtime, const Text& separator, const std::vector<Text>& parts);

/// Each character in another case.
Text in_case(const Text& text, LetterCase wanted);
/// There is a letter in that case, upper or lower, and none in the other.
bool has_only_case(const Text& text, LetterCase wanted);
/// The first letter in upper case, the others in lower case.
Text capitalize(const Text& text);
/// Each word capitalized, where words are runs of letters.
Text title(const Text& text);

}  // namespace sluice::jinja
