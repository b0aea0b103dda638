#include "engine/utf8.h"

#include <algorithm>
#include <cstdint>

#include <unicode/uchar.h>

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

/// Unicode's White_Space property.
bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_word_character(char32_t c) {
  const auto code = static_cast<UChar32>(c);
  constexpr uint32_t kMarkDigitConnector = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  return u_hasBinaryProperty(code, UCHAR_ALPHABETIC) != 0 || (U_MASK(u_charType(code)) & kMarkDigitConnector) != 0 ||
         u_hasBinaryProperty(code, UCHAR_JOIN_CONTROL) != 0;
}

/// `text` is valid UTF-8 and not empty.
size_t last_character_begin(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && is_continuation(byte_at(text, at))) --at;
  return at;
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

char32_t first_character(std::string_view text) {
  const size_t size = utf8_step(text).size;
  const uint32_t lead = byte_at(text, 0);
  if (size == 1) return lead;
  uint32_t character = lead & (0xFFU >> (size + 1));
  for (size_t i = 1; i < size; ++i) character = (character << 6U) | (byte_at(text, i) & 0x3FU);
  return character;
}

size_t leading_space_bytes(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && is_white_space(first_character(text.substr(size)))) {
    size += utf8_step(text.substr(size)).size;
  }
  return size;
}

size_t trailing_space_bytes(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0) {
    const size_t at = last_character_begin(text.substr(0, begin));
    if (!is_white_space(first_character(text.substr(at)))) break;
    begin = at;
  }
  return text.size() - begin;
}

bool begins_with_word(std::string_view text) {
  return !text.empty() && is_word_character(first_character(text));
}

bool ends_in_word(std::string_view text) {
  return !text.empty() && is_word_character(first_character(text.substr(last_character_begin(text))));
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
