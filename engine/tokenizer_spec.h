#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/added_tokens.h"
#include "engine/pretokenizer.h"
#include "engine/text_normalizer.h"
#include "engine/tokenizer.h"

namespace sluice::engine {

/// Two neighbours that become one token; lower ranks merge first.
struct BpeMerge {
  int32_t left = 0;
  int32_t right = 0;
  int32_t merged = 0;
  int32_t rank = 0;
};

/// What the merging of a word begins with: an id for each of its bytes or characters.
struct BpeSymbols {
  /// Words are split into characters, otherwise into bytes.
  bool are_characters = false;
  std::unordered_map<char32_t, int32_t> character_ids;  ///< empty where words are split into bytes
  /// [256] The token of each single byte, where there is one. A character without a token becomes its bytes' tokens
  /// where all of them have one.
  std::vector<std::optional<int32_t>> byte_ids = std::vector<std::optional<int32_t>>(256);
  /// What stands for a byte or character that is left without a token. Nothing does when it is absent.
  std::optional<int32_t> unknown_id;
  bool fuses_unknown = false;  ///< one stands for a run of them
};

struct WordHash {
  using is_transparent = void;
  size_t operator()(std::string_view word) const noexcept { return std::hash<std::string_view>()(word); }
};
using WordIds = std::unordered_map<std::string, int32_t, WordHash, std::equal_to<>>;

/// Byte-pair encoding of words, checked: every id is in range, no pair is there twice.
struct BpeModel {
  BpeSymbols symbols;
  std::vector<BpeMerge> merges;
  /// Words that are tokens as they stand, whatever merges lead to; empty where merges alone decide.
  WordIds whole_words;
};

/// What a token is to those who read tokens.
struct TokenText {
  std::string bytes;  ///< what it stands for; a special token's name
  bool is_special = false;
};

/// All that a tokenizer is made of, from whatever file: names are cut out (`added`), the rest is normalised, names are
/// cut out of that (`added_normalized`), and what is left is cut into words, whose symbols are merged. Checked: every
/// id is in [0, tokens.size()); no merge, whole word or character makes a special token.
struct TokenizerSpec {
  std::vector<TokenText> tokens;             // [vocab_size] by id
  std::vector<AddedToken> added;             ///< found in the text as it comes; all special ones
  std::vector<AddedToken> added_normalized;  ///< found in normalised text, by their normalised names
  TextNormalizer normalizer;
  Pretokenizer pretokenizer{{}};
  BpeModel model;
  std::optional<int32_t> bos_id;
  std::vector<int32_t> prefix_ids;  ///< see Tokenizer
  std::vector<int32_t> suffix_ids;
  std::vector<int32_t> end_ids;  ///< ascending
  LeadingBlanks dropped_blanks;
};

}  // namespace sluice::engine
