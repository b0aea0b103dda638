#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace sluice::cli {

/// The whole text as a decimal number that fits, or nothing.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace sluice::cli
