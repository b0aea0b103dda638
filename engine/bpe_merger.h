#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/counter_random.h"
#include "engine/bpe_vocabulary.h"

namespace sluice::engine {

/// Byte-pair encoding of single words: the neighbours whose merge has the lowest rank become one token, the leftmost
/// first among equals, until no merge applies (Sennrich, Haddow & Birch 2016). Immutable, thread-safe.
class BpeMerger {
 public:
  /// Memory of one thread; its content means nothing between calls.
  struct Scratch {
    struct Symbol {
      int32_t id;
      int32_t previous;
      int32_t next;
    };
    struct Candidate {
      int32_t rank;
      int32_t at;
      int32_t left;
      int32_t right;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  BpeMerger(std::span<const std::optional<int32_t>> byte_ids, std::span<const BpeMerge> merges);

  /// Appends the ids of `word`, which has less than 2^31 bytes. O(n log n). A byte without a token is left out, as
  /// Hugging Face's tokenizers do for a vocabulary without an unknown token.
  void encode(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;

 private:
  struct Pair {
    int32_t left;
    int32_t right;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  struct PairHash {
    size_t operator()(const Pair& pair) const noexcept {
      return mix_bits((static_cast<uint64_t>(static_cast<uint32_t>(pair.left)) << 32U) |
                      static_cast<uint32_t>(pair.right));
    }
  };
  struct Rule {
    int32_t rank;
    int32_t merged;
  };

  void start(std::string_view word, Scratch& scratch) const;
  /// Remembers the pair that begins at `at`, if it can merge.
  void consider(int32_t at, Scratch& scratch) const;
  void merge_all(Scratch& scratch) const;

  std::vector<std::optional<int32_t>> byte_ids_;  // [256]
  std::unordered_map<Pair, Rule, PairHash> rules_;
};

}  // namespace sluice::engine
