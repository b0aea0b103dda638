#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcache/block_key.h"
#include "kvcache/shared_block_pool.h"

namespace sluice::kvcache {

/// Which full blocks of contexts are in the cache, by content. A block becomes known when it's published and stays so,
/// in tables or cached, until it's overwritten. Lives beside one pool and ends before it; tables may outlive it.
/// Allocates nothing after it has been constructed. One thread.
///
/// `keys` and `tokens` are always a sequence's from its beginning: tokens holds at least keys.size() full blocks, and
/// no key is in it twice. A block is found by its key, and its tokens are then compared, so a hit has exactly these
/// tokens. That the same tokens precede them is what the key says, and is compared in their own blocks.
///
/// With several groups of layers (BlockGrowth) a block of a context is a block of the pool for each of them. They come
/// and go together: whoever shares one shares all, and when one is overwritten all are forgotten. Sequences that write
/// over their own blocks (BlockGrowth::wraps) have no business here.
///
/// A block can be evicted before the blocks that follow it in a sequence (they were in other tables still). No walk
/// from the beginning then reaches those; they age out, or are reached again when an equal block is published.
class PrefixIndex final : private EvictionSink {
 public:
  explicit PrefixIndex(SharedBlockPool& pool);
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;
  /// Forgets all content.
  ~PrefixIndex();

  /// How many blocks in a row are known from block number `from` of the sequence on, at most `limit`.
  int32_t match(std::span<const BlockKey> keys, std::span<const int32_t> tokens, int32_t from, int32_t limit) const;

  /// Appends the blocks that match from the first that the table doesn't have on, at most `limit`, and says how many,
  /// in blocks of the context. What of them was cached isn't free any more.
  int32_t attach(BlockTable& table, std::span<const BlockKey> keys, std::span<const int32_t> tokens, int32_t limit);

  /// Block number `number` of the table's context now holds these block_size tokens, and `key` names it. When the key
  /// is known already nothing changes: the other block stays the known one, and this one is empty when its table ends.
  void publish(const BlockTable& table, int32_t number, const BlockKey& key, std::span<const int32_t> tokens);

  /// Forgets all content: nothing is known, cached blocks are empty. Tables keep their blocks. O(capacity).
  void clear();

  /// Known blocks of contexts, in tables or cached.
  int64_t known_count() const { return known_count_; }

 private:
  static constexpr int32_t kNone = -1;

  void evicted(int32_t block) override;
  int32_t find(const BlockKey& key) const;
  /// The known block that is number `number` of the sequence, or kNone.
  int32_t find(std::span<const BlockKey> keys, std::span<const int32_t> tokens, int32_t number) const;
  /// The same content's blocks in all groups but the last.
  std::span<int32_t> others_of(int32_t block);
  std::span<int32_t> tokens_of(int32_t block);
  std::span<const int32_t> tokens_of(int32_t block) const;
  size_t chain_of(const BlockKey& key) const { return static_cast<size_t>(key.low) & (first_.size() - 1); }
  void insert(int32_t block, const BlockKey& key);
  void erase(int32_t block);

  // A block of a context goes by its block in the last group: when its tables have ended, that one is evicted first.
  SharedBlockPool& pool_;
  const int32_t groups_;
  std::vector<int32_t> tokens_;  // [capacity, block_size]
  std::vector<int32_t> others_;  // [capacity, groups - 1]
  std::vector<BlockKey> keys_;   // [capacity]
  // A hash table: each chain's first block, and each known block's next one in its chain. Keys are already hashes.
  std::vector<int32_t> first_;  // [a power of two >= capacity]
  std::vector<int32_t> next_;   // [capacity]
  int64_t known_count_ = 0;
};

}  // namespace sluice::kvcache
