#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::jinja {

// Characters as Python's str knows them. All text here is valid UTF-8: it was checked where it came in.

bool is_valid_utf8(std::string_view bytes);

struct Character {
  char32_t code = 0;
  size_t size = 0;  ///< bytes
};
/// The character that begins at `index`, which is inside the text.
Character character_at(std::string_view text, size_t index);
/// The size of the character that ends before `end`, which is not 0.
size_t size_before(std::string_view text, size_t end);

size_t character_count(std::string_view text);
/// The byte at which the character with this number begins; the text's size where there are fewer.
size_t byte_of_character(std::string_view text, size_t character);

void append_utf8(std::string& out, char32_t code);

bool is_space(char32_t code);       ///< str.isspace, and \s of a regular expression
bool is_line_break(char32_t code);  ///< where str.splitlines cuts
bool is_digit(char32_t code);       ///< str.isdigit
bool is_decimal(char32_t code);     ///< str.isdecimal
bool is_numeric(char32_t code);     ///< str.isnumeric
bool is_letter(char32_t code);      ///< str.isalpha
bool is_upper(char32_t code);
bool is_lower(char32_t code);
bool is_printable(char32_t code);  ///< repr shows it as it is

enum class LetterCase { kUpper, kLower, kTitle, kFold };
/// The character in that case, perhaps several characters.
std::string in_case(char32_t code, LetterCase wanted);

}  // namespace sluice::jinja
