#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::jinja {

/// Python's repr of a float: the shortest digits that give the number back.
std::string float_text(double number);

/// Python's int(text) and float(text): blanks around and "_" between digits are fine. Nothing where Python raises, or
/// past 64 bits.
std::optional<int64_t> parse_int(std::string_view text, int base);
std::optional<double> parse_float(std::string_view text);

}  // namespace sluice::jinja
