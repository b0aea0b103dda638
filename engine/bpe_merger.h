#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/counter_random.h"
#include "engine/tokenizer_spec.h"

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
      int32_t merged;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  BpeMerger(BpeSymbols symbols, std::span<const BpeMerge> merges);

  /// Appends the ids of `word`, valid UTF-8 where symbols are characters, of less than 2^31 bytes. O(n log n).
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

  void start_bytes(std::string_view word, Scratch& scratch) const;
  void start_characters(std::string_view word, Scratch& scratch) const;
  /// False when some byte of the character has no token; then none is added.
  bool add_as_bytes(std::string_view character, Scratch& scratch) const;
  /// nullptr when the pair doesn't merge.
  const Rule* rule_of(int32_t left, int32_t right) const;
  /// Remembers the pair that begins at `at`, if it can merge.
  void consider(int32_t at, Scratch& scratch) const;
  void merge_all(Scratch& scratch) const;
  /// Merges the pair that begins where the candidate says, unless it has become another one.
  bool merge(const Scratch::Candidate& candidate, Scratch& scratch) const;

  const BpeSymbols symbols_;
  std::unordered_map<Pair, Rule, PairHash> rules_;
};

}  // namespace sluice::engine
