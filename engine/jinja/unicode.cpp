#include "engine/jinja/unicode.h"

#include <array>

#include <unicode/uchar.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

namespace sluice::jinja {
namespace {

UChar32 icu(char32_t code) {
  return static_cast<UChar32>(code);
}

bool is_continuation(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0U) == 0x80U;
}

/// 0 for a byte that begins no character.
size_t size_by_lead(char byte) {
  const auto lead = static_cast<uint8_t>(byte);
  if (lead < 0x80) return 1;
  if (lead < 0xC0) return 0;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 0;
}

constexpr std::array<char32_t, 5> kSmallestBySize = {0, 0, 0x80, 0x800, 0x10000};

using Utf16 = std::array<UChar, 8>;  // one character in another case has three characters at most

int32_t change_case(const UChar* from, int32_t size, LetterCase wanted, Utf16& to) {
  UErrorCode error = U_ZERO_ERROR;
  const auto room = static_cast<int32_t>(to.size());
  switch (wanted) {
    case LetterCase::kUpper:
      return u_strToUpper(to.data(), room, from, size, "", &error);
    case LetterCase::kLower:
      return u_strToLower(to.data(), room, from, size, "", &error);
    case LetterCase::kTitle:
      return u_strToTitle(to.data(), room, from, size, nullptr, "", &error);
    case LetterCase::kFold:
      return u_strFoldCase(to.data(), room, from, size, U_FOLD_CASE_DEFAULT, &error);
  }
  return 0;
}

std::string ascii_in_case(char code, LetterCase wanted) {
  const bool is_up = wanted == LetterCase::kUpper || wanted == LetterCase::kTitle;
  if (is_up && code >= 'a' && code <= 'z') return {static_cast<char>(code - 'a' + 'A')};
  if (!is_up && code >= 'A' && code <= 'Z') return {static_cast<char>(code - 'A' + 'a')};
  return {code};
}

}  // namespace

bool is_valid_utf8(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const size_t size = size_by_lead(bytes[i]);
    if (size == 0 || size > bytes.size() - i) return false;
    for (size_t k = 1; k < size; ++k) {
      if (!is_continuation(bytes[i + k])) return false;
    }
    const char32_t code = character_at(bytes, i).code;
    const bool is_overlong = size > 1 && code < kSmallestBySize[size];
    if (is_overlong || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return false;
    i += size;
  }
  return true;
}

Character character_at(std::string_view text, size_t index) {
  const size_t size = size_by_lead(text[index]);
  const auto lead = static_cast<uint8_t>(text[index]);
  if (size <= 1) return {.code = lead, .size = 1};
  char32_t code = lead & (0x7FU >> size);
  for (size_t k = 1; k < size; ++k) code = (code << 6U) | (static_cast<uint8_t>(text[index + k]) & 0x3FU);
  return {.code = code, .size = size};
}

size_t size_before(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && is_continuation(text[begin])) --begin;
  return end - begin;
}

size_t character_count(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += is_continuation(byte) ? 0 : 1;
  return count;
}

size_t byte_of_character(std::string_view text, size_t character) {
  size_t byte = 0;
  for (; character > 0 && byte < text.size(); --character) {
    for (++byte; byte < text.size() && is_continuation(text[byte]);) ++byte;
  }
  return byte;
}

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0U | (code >> 6U));
  } else {
    if (code < 0x10000) {
      put(0xE0U | (code >> 12U));
    } else {
      put(0xF0U | (code >> 18U));
      put(0x80U | ((code >> 12U) & 0x3FU));
    }
    put(0x80U | ((code >> 6U) & 0x3FU));
  }
  put(0x80U | (code & 0x3FU));
}

bool is_space(char32_t code) {
  if (code < 0x80) return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20);
  return code == 0x85 || u_charType(icu(code)) == U_SPACE_SEPARATOR || code == 0x2028 || code == 0x2029;
}

bool is_line_break(char32_t code) {
  return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
         code == 0x2029;
}

bool is_decimal(char32_t code) {
  return u_charType(icu(code)) == U_DECIMAL_DIGIT_NUMBER;
}

bool is_digit(char32_t code) {
  const int32_t type = u_getIntPropertyValue(icu(code), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}

bool is_numeric(char32_t code) {
  return u_getIntPropertyValue(icu(code), UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}

bool is_letter(char32_t code) {
  return u_isalpha(icu(code)) != 0;
}

bool is_upper(char32_t code) {
  return u_isUUppercase(icu(code)) != 0;
}

bool is_lower(char32_t code) {
  return u_isULowercase(icu(code)) != 0;
}

bool is_printable(char32_t code) {
  if (code < 0x80) return code >= 0x20 && code < 0x7F;
  const uint32_t hidden = U_GC_C_MASK | U_GC_Z_MASK;  // controls and unassigned, separators
  return (U_MASK(u_charType(icu(code))) & hidden) == 0;
}

std::string in_case(char32_t code, LetterCase wanted) {
  if (code < 0x80) return ascii_in_case(static_cast<char>(code), wanted);
  const std::array<UChar, 2> from = {static_cast<UChar>(code < 0x10000 ? code : U16_LEAD(icu(code))),
                                     static_cast<UChar>(U16_TRAIL(icu(code)))};
  const int32_t from_size = code < 0x10000 ? 1 : 2;
  Utf16 to{};
  const int32_t to_size = change_case(from.data(), from_size, wanted, to);
  std::string out;
  for (int32_t i = 0; i < to_size;) {
    UChar32 next = 0;
    U16_NEXT(to.data(), i, to_size, next);
    append_utf8(out, static_cast<char32_t>(next));
  }
  return out;
}

}  // namespace sluice::jinja
