#pragma once

#include <cstdint>

#include "kvcache/block_key.h"
#include "kvcache/prefix_index.h"
#include "kvcache/shared_block_pool.h"
#include "scheduler/sequence.h"

namespace sluice::scheduler {

/// Which of its blocks a sequence can take over from others, and which others can take over from it. A sequence whose
/// submission has no keys shares nothing, nor does one that would get so long that it writes over its own blocks
/// (BlockGrowth::wraps). Lends pool and hasher; one thread.
class PrefixSharing {
 public:
  /// `reuses_outputs`: blocks with tokens of answers are published too.
  PrefixSharing(kvcache::SharedBlockPool& pool, const kvcache::BlockHasher& hasher, bool reuses_outputs)
      : index_(pool), hasher_(&hasher), growth_(pool.growth()), reuses_outputs_(reuses_outputs) {}

  /// Appends to the empty table what is known of the sequence's prompt, but for its last token, which has to be
  /// computed. One whose prompt is scored computes it all. Returns tokens.
  int32_t attach(const Sequence& sequence, kvcache::BlockTable& table);
  /// Whether `other`, which is running, is about to compute the next block that `sequence` would have to.
  bool is_computing_for(const Sequence& other, const Sequence& sequence, int32_t known_blocks) const;
  /// How many blocks attach() would find.
  int32_t known_blocks(const Sequence& sequence) const;
  /// The sequence is admitted, with `cached_tokens` of it from attach().
  void begin(Sequence& sequence) const;
  /// Tokens from `computed_before` on are in the cache now.
  void publish(Sequence& sequence, int32_t computed_before);
  /// Nothing is known any more.
  void forget() { index_.clear(); }

 private:
  bool shares(const Sequence& sequence) const;
  int32_t usable_blocks(const Sequence& sequence) const;
  kvcache::BlockKey key_of(const Sequence& sequence, int32_t block);

  kvcache::PrefixIndex index_;
  const kvcache::BlockHasher* hasher_;
  kvcache::BlockGrowth growth_;
  bool reuses_outputs_;
  std::vector<int32_t> tokens_;  // of the block that is published
};

}  // namespace sluice::scheduler
