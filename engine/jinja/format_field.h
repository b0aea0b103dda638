#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "engine/jinja/runtime.h"

namespace sluice::jinja {

/// How one value is laid out: "[[fill]align][sign][#][0][width][,][.precision][type]".
struct FieldStyle {
  Text fill{" ", Origin::kInput};  ///< one character
  char align = 0;                  ///< '<', '>', '^', '='; 0 for what suits the value
  char sign = '-';                 ///< '+', ' ' or '-'
  bool has_prefix = false;         ///< "0x" and the like
  char grouping = 0;               ///< ',' or '_'
  int64_t width = 0;
  std::optional<int64_t> precision;
  char type = 0;
};

Result<FieldStyle> parse_field_style(const Text& specification);

/// A string, or a number, laid out in that style.
Result<Text> format_text(Runtime& runtime, const Text& text, const FieldStyle& style);
Result<Text> format_number(Runtime& runtime, const Value& number, const FieldStyle& style);

/// `text` with as much of `fill` around it as makes it `width` characters long.
Result<Text> pad(Runtime& runtime, const Text& text, const Text& fill, char align, int64_t width);

}  // namespace sluice::jinja
