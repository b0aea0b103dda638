#include "engine/utf8.h"

#include <algorithm>
#include <cstdint>

namespace sluice::engine {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

uint8_t byte_at(std::string_view bytes, size_t index) {
  return static_cast<uint8_t>(bytes[index]);
}

bool is_continuation(uint8_t byte) {
  return (byte & 0xC0U) == 0x80U;
}

/// What the first byte of a character says about the rest (Unicode 15, table 3-7): its size, 0 when it can't be a first
/// byte, and where the second byte must lie.
struct LeadByte {
  size_t size = 0;
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
};

LeadByte lead_byte(uint8_t byte) {
  if (byte < 0x80) return {.size = 1};
  if (byte < 0xC2) return {.size = 0};
  if (byte < 0xE0) return {.size = 2};
  if (byte == 0xE0) return {.size = 3, .second_min = 0xA0};
  if (byte == 0xED) return {.size = 3, .second_max = 0x9F};  // surrogates are left out
  if (byte < 0xF0) return {.size = 3};
  if (byte == 0xF0) return {.size = 4, .second_min = 0x90};
  if (byte < 0xF4) return {.size = 4};
  if (byte == 0xF4) return {.size = 4, .second_max = 0x8F};
  return {.size = 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view bytes) {
  using Kind = Utf8Step::Kind;
  const LeadByte lead = lead_byte(byte_at(bytes, 0));
  if (lead.size == 0) return {Kind::kInvalid, 1};
  for (size_t i = 1; i < lead.size; ++i) {
    if (i == bytes.size()) return {Kind::kTruncated, i};
    const uint8_t byte = byte_at(bytes, i);
    const bool fits = i == 1 ? byte >= lead.second_min && byte <= lead.second_max : is_continuation(byte);
    if (!fits) return {Kind::kInvalid, i};
  }
  return {Kind::kCharacter, lead.size};
}

bool is_valid_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Step step = utf8_step(bytes);
    if (step.kind != Utf8Step::Kind::kCharacter) return false;
    bytes.remove_prefix(step.size);
  }
  return true;
}

size_t complete_utf8_prefix(std::string_view bytes) {
  constexpr size_t kUnfinishedMax = 3;
  for (size_t back = 1; back <= std::min(kUnfinishedMax, bytes.size()); ++back) {
    const size_t begin = bytes.size() - back;
    if (is_continuation(byte_at(bytes, begin))) continue;
    const bool truncated = utf8_step(bytes.substr(begin)).kind == Utf8Step::Kind::kTruncated;
    return truncated ? begin : bytes.size();
  }
  return bytes.size();
}

std::string sanitize_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = utf8_step(bytes);
    text += step.kind == Utf8Step::Kind::kCharacter ? bytes.substr(0, step.size) : kReplacement;
    bytes.remove_prefix(step.size);
  }
  return text;
}

}  // namespace sluice::engine
