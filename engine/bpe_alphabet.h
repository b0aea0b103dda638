#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::engine {

/// The byte-level alphabet of GPT-2, in which vocabularies spell bytes as printable characters: bytes that are
/// printable in Latin-1 stand for themselves, the 68 others are U+0100, U+0101, … in ascending order (a blank is "Ġ").
/// Source: bytes_to_unicode in https://github.com/openai/gpt-2/blob/master/src/encoder.py

/// The spelling of one byte, one or two bytes of UTF-8.
std::string spell_byte(uint8_t byte);

/// The spelling of all of them.
std::string spell_bytes(std::string_view bytes);

/// The bytes that `spelling` stands for; nullopt when a character of it is not in the alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

}  // namespace sluice::engine
