#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace sluice::engine {

class GgufFile;

enum class BpeTokenKind : uint8_t {
  kWord,     ///< made from text by merges
  kAdded,    ///< found in text by its name before any merging; ordinary text otherwise
  kSpecial,  ///< found by its name only where names of special tokens are parsed
  kUnused,   ///< never made from text
};

struct BpeToken {
  std::string bytes;  ///< what it stands for; a special token's name
  BpeTokenKind kind = BpeTokenKind::kWord;
};

/// Two neighbours that become one token. Its rank is its place in the list: lower ranks merge first.
struct BpeMerge {
  int32_t left = 0;
  int32_t right = 0;
  int32_t merged = 0;
};

/// What a file says about a byte-level BPE tokenizer, checked: every id is in range, no name is there twice, and no
/// merge makes a special token.
struct BpeVocabulary {
  std::vector<BpeToken> tokens;                  // [vocab_size] by id
  std::vector<std::optional<int32_t>> byte_ids;  // [256] the token of each single byte, where there is one
  std::vector<BpeMerge> merges;                  // by rank, no pair twice
  std::optional<int32_t> bos_id;
  std::optional<bool> adds_bos;  ///< what the file says, if it does
  std::vector<int32_t> end_ids;  ///< ascending, see Tokenizer::end_ids

  /// Errors name the key at fault.
  static Result<BpeVocabulary> from_gguf(const GgufFile& file);
};

}  // namespace sluice::engine
