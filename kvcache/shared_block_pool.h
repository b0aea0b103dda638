#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kvcache/block_growth.h"
#include "kvcache/eviction_list.h"

namespace sluice::kvcache {

class SharedBlockPool;

/// What a pool looks like to an admission policy and to metrics. free + used is capacity.
struct SharedBlockCounts {
  int32_t capacity = 0;
  int32_t free = 0;    ///< in no table: empty or cached
  int32_t cached = 0;  ///< those of `free` whose content is kept
  int32_t used = 0;    ///< in at least one table
  int32_t shared = 0;  ///< in at least two tables
};

/// The append-only list of the blocks of one sequence. Move-only; its end gives everything back. Must not outlive its
/// pool. A block that is in several tables is full, and nobody writes to it.
class BlockTable {
 public:
  /// The table of no sequence: no block is ever in it.
  BlockTable() = default;
  BlockTable(BlockTable&& other) noexcept;
  BlockTable& operator=(BlockTable&& other) noexcept;
  ~BlockTable() { release(); }

  /// Appends a free block; the pool has one. An empty one if there is any, otherwise the cached block that was given
  /// back first: it loses its content, and the pool's index forgets it.
  void take();
  /// Appends a block whose content is another table's or is kept. It isn't in this table yet.
  void share(int32_t block);
  /// Gives back all blocks; the table is then as if default-constructed. Those in no other table are free: cached when
  /// their content is kept, and then evicted after all blocks given back before, the last of the table first (what a
  /// block holds is of no use without what came before it); otherwise empty.
  void release();

  /// Valid until the table changes.
  std::span<const int32_t> blocks() const;
  int32_t count() const { return static_cast<int32_t>(blocks().size()); }
  /// Blocks that are in this table and in no other. O(1).
  int32_t owned_count() const;

 private:
  friend class SharedBlockPool;
  BlockTable(SharedBlockPool& pool, int32_t place) : pool_(&pool), place_(place) {}

  SharedBlockPool* pool_ = nullptr;
  int32_t place_ = 0;  // which of the pool's lists is this table's; moves don't change it
};

/// Who is told that a cached block is about to be overwritten.
class EvictionSink {
 public:
  /// `block` is in no table, and its content is no longer kept. The sink may discard other blocks, no more.
  virtual void evicted(int32_t block) = 0;

 protected:
  ~EvictionSink() = default;
};

/// The blocks of one device's KV cache: ids 0 .. capacity - 1, each in any number of tables. Knows no policy and no
/// content: which sequence may take a block is the admission's business, what a block holds the PrefixIndex's. All
/// operations but release are O(1), and none allocates once it has seen as many tables, as long ones, at the same time.
/// One thread.
class SharedBlockPool {
 public:
  /// `growth` says how the tables of the model's sequences grow. block_count is at least 1, and the number of slots,
  /// block_count * block_size, fits in an int32.
  SharedBlockPool(int32_t block_count, const BlockGrowth& growth);
  /// For a model whose layers all see the same, the whole context.
  SharedBlockPool(int32_t block_count, int32_t block_size)
      : SharedBlockPool(block_count, BlockGrowth{.block_size = block_size}) {}
  SharedBlockPool(const SharedBlockPool&) = delete;
  SharedBlockPool& operator=(const SharedBlockPool&) = delete;
  /// All tables have ended.
  ~SharedBlockPool();

  /// An empty table with the memory, not the blocks, for `block_count_max` ones, 0 .. capacity: up to there appending
  /// doesn't allocate.
  BlockTable new_table(int32_t block_count_max);

  SharedBlockCounts counts() const;
  int32_t capacity() const { return static_cast<int32_t>(blocks_.size()); }
  int32_t block_size() const { return growth_.block_size; }
  const BlockGrowth& growth() const { return growth_; }

  // What follows is for the pool's one index.

  /// Told of evictions until it is set to nullptr. At most one at a time.
  void set_eviction_sink(EvictionSink* sink);
  /// The content of a block that is in some table is worth keeping: when its last table gives it back it's cached.
  void keep(int32_t block);
  /// The content of a kept block is no longer worth keeping; a cached one is then empty.
  void discard(int32_t block);
  bool is_kept(int32_t block) const { return blocks_[static_cast<size_t>(block)].is_kept; }

 private:
  friend class BlockTable;
  struct Block {
    int32_t holder_count = 0;  // tables that it's in
    // XOR of the places of these tables. When they are one again, this is the one.
    int32_t holders = 0;
    bool is_kept = false;
  };
  /// What a BlockTable stands for. Its vector's memory stays for the next table in this place.
  struct Holding {
    std::vector<int32_t> blocks;
    int32_t owned_count = 0;
  };

  Block& at(int32_t block) { return blocks_[static_cast<size_t>(block)]; }
  Holding& holding(int32_t place) { return holdings_[static_cast<size_t>(place)]; }
  int32_t take_free();
  int32_t evict();
  void share(int32_t place, int32_t block);
  void append(int32_t place, int32_t block);
  void give_back(int32_t place, int32_t block);
  void free(int32_t block);
  void end_table(int32_t place);

  const BlockGrowth growth_;
  std::vector<Block> blocks_;        // [capacity]
  std::vector<int32_t> empty_;       // a stack: the block given back last is the likeliest to be in a processor's cache
  EvictionList cached_;              // the block given back first is evicted first
  std::vector<Holding> holdings_;    // by place
  std::vector<int32_t> no_holding_;  // places that no table has
  int32_t shared_count_ = 0;
  EvictionSink* sink_ = nullptr;
};

}  // namespace sluice::kvcache
