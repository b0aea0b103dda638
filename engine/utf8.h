#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::engine {

/// What the bytes from one place on begin with.
struct Utf8Step {
  enum class Kind {
    kCharacter,  ///< a whole character
    kInvalid,    ///< bytes that can't begin a character, whatever follows
    kTruncated,  ///< the text ends inside what may still become a character
  };
  Kind kind = Kind::kInvalid;
  size_t size = 1;  ///< bytes, 1 to 4; of anything but a character, the maximal subpart (Unicode 15, section 3.9)
};

/// `bytes` is not empty.
Utf8Step utf8_step(std::string_view bytes);

/// True when `bytes` is whole, valid UTF-8: no overlong form, no surrogate, nothing above U+10FFFF.
bool is_valid_utf8(std::string_view bytes);

/// The length of the longest prefix of `bytes` that does not end inside a UTF-8 character which later bytes could still
/// complete. At most 3 bytes shorter than `bytes`.
size_t complete_utf8_prefix(std::string_view bytes);

/// `bytes` with each maximal subpart that is not a character replaced by one U+FFFD, as browsers do
/// (https://encoding.spec.whatwg.org).
std::string sanitize_utf8(std::string_view bytes);

/// The character that begins `text`, which is valid UTF-8 and not empty.
char32_t first_character(std::string_view text);

/// Bytes of white space (Unicode's White_Space) that begin or end `text`, which is valid UTF-8.
size_t leading_space_bytes(std::string_view text);
size_t trailing_space_bytes(std::string_view text);

/// Whether `text`, valid UTF-8, begins or ends with a character of words: a letter, mark, digit or joining punctuation
/// (Unicode Technical Standard 18, annex C).
bool begins_with_word(std::string_view text);
bool ends_in_word(std::string_view text);

}  // namespace sluice::engine
