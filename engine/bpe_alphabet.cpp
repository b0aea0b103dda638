#include "engine/bpe_alphabet.h"

#include <array>

namespace sluice::engine {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr int kShifted = 0x100;       // the first character of the bytes that don't stand for themselves
constexpr int kCharacterEnd = 0x144;  // one past the last character of the alphabet
constexpr int16_t kNoByte = -1;

struct Alphabet {
  std::array<uint16_t, 256> character_of_byte{};
  std::array<int16_t, kCharacterEnd> byte_of_character{};
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  alphabet.byte_of_character.fill(kNoByte);
  int shifted = kShifted;
  for (int byte = 0; byte < 256; ++byte) {
    const int character = stands_for_itself(byte) ? byte : shifted++;
    alphabet.character_of_byte.at(static_cast<size_t>(byte)) = static_cast<uint16_t>(character);
    alphabet.byte_of_character.at(static_cast<size_t>(character)) = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string spell_byte(uint8_t byte) {
  const unsigned character = kAlphabet.character_of_byte.at(byte);
  if (character < 0x80) return {static_cast<char>(character)};
  return {static_cast<char>(0xC0U | (character >> 6U)), static_cast<char>(0x80U | (character & 0x3FU))};
}

std::string spell_bytes(std::string_view bytes) {
  std::string spelling;
  spelling.reserve(bytes.size());
  for (const char byte : bytes) spelling += spell_byte(static_cast<uint8_t>(byte));
  return spelling;
}

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  for (size_t i = 0; i < spelling.size(); ++i) {
    unsigned character = static_cast<uint8_t>(spelling[i]);
    if (character >= 0x80) {
      // No character of the alphabet takes more than two bytes.
      if (character < 0xC2 || character > 0xDF || ++i == spelling.size()) return std::nullopt;
      const unsigned second = static_cast<uint8_t>(spelling[i]);
      if ((second & 0xC0U) != 0x80U) return std::nullopt;
      character = ((character & 0x1FU) << 6U) | (second & 0x3FU);
    }
    if (character >= kCharacterEnd) return std::nullopt;
    const int16_t byte = kAlphabet.byte_of_character.at(character);
    if (byte == kNoByte) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

}  // namespace sluice::engine
