#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::server {

/// Whose distributed trace a request belongs to, as W3C's Trace Context has it.
struct TraceContext {
  std::array<uint8_t, 16> trace_id{};
  std::array<uint8_t, 8> parent_span{};  ///< the caller's span; zero: the request begins the trace
  bool is_sampled = false;               ///< whether spans are to be recorded

  bool has_parent() const { return parent_span != std::array<uint8_t, 8>{}; }
};

/// Reads a `traceparent`, "00-<32 hex>-<16 hex>-<2 hex>". nullopt for anything else, as the specification wants: a
/// caller's broken header must not fail his request. Of later versions what version 00 knows is read.
std::optional<TraceContext> parse_traceparent(std::string_view header);

/// The context of a request that brought none: ids drawn from (seed, number), sampled with probability `ratio`.
TraceContext fresh_trace(uint64_t seed, uint64_t number, double ratio);

/// Lower-case hexadecimal digits.
template <size_t kBytes>
std::string to_hex(const std::array<uint8_t, kBytes>& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

}  // namespace sluice::server
