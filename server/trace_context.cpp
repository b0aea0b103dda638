#include "server/trace_context.h"

#include <span>

#include "base/counter_random.h"

namespace sluice::server {
namespace {

constexpr size_t kTraceBegin = 3;
constexpr size_t kParentBegin = 36;
constexpr size_t kFlagsBegin = 53;
constexpr size_t kLength = 55;

std::optional<uint8_t> digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  // Upper case is not allowed.
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

/// False unless all digits are there and not all are zero.
bool read_hex(std::string_view text, std::span<uint8_t> bytes) {
  bool is_zero = true;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto high = digit(text[2 * i]);
    const auto low = digit(text[2 * i + 1]);
    if (!high || !low) return false;
    bytes[i] = static_cast<uint8_t>(*high << 4U | *low);
    is_zero = is_zero && bytes[i] == 0;
  }
  return !is_zero;
}

void draw(std::span<uint8_t> bytes, uint64_t seed, uint64_t number) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint64_t word = random_bits(random_bits(seed, number), i / 8);
    bytes[i] = static_cast<uint8_t>(word >> (i % 8 * 8));
  }
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view header) {
  if (header.size() < kLength) return std::nullopt;
  const bool is_later = header.substr(0, 2) != "00";
  const bool has_version = digit(header[0]) && digit(header[1]) && header.substr(0, 2) != "ff";
  const bool has_length = header.size() == kLength || (is_later && header[kLength] == '-');
  const bool has_dashes = header[2] == '-' && header[kParentBegin - 1] == '-' && header[kFlagsBegin - 1] == '-';
  if (!has_version || !has_length || !has_dashes) return std::nullopt;
  TraceContext context;
  if (!read_hex(header.substr(kTraceBegin), context.trace_id)) return std::nullopt;
  if (!read_hex(header.substr(kParentBegin), context.parent_span)) return std::nullopt;
  const auto low = digit(header[kFlagsBegin + 1]);
  if (!digit(header[kFlagsBegin]) || !low) return std::nullopt;
  context.is_sampled = (*low & 1U) != 0;
  return context;
}

TraceContext fresh_trace(uint64_t seed, uint64_t number, double ratio) {
  TraceContext context;
  draw(context.trace_id, seed, number);
  context.trace_id[0] |= 1U;  // all zero is no id
  // The lowest bytes decide, as other samplers do, so that they agree on what is kept.
  uint64_t low = 0;
  for (size_t i = 8; i < 16; ++i) low = low << 8U | context.trace_id[i];
  context.is_sampled = static_cast<double>(low >> 11U) * 0x1p-53 < ratio;
  return context;
}

}  // namespace sluice::server
