#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::kvcache {

class BlockPool;

/// What a pool looks like to an admission policy and to metrics. free + used is capacity; reserved is its own account.
struct BlockCounts {
  int32_t capacity = 0;
  int32_t free = 0;      ///< blocks nobody has taken
  int32_t used = 0;      ///< blocks in some block table
  int32_t reserved = 0;  ///< sum of the final block counts of all reservations, taken or not
};

/// A sequence's right to its final block count, and the append-only block table of those it has taken so far.
/// Move-only; its end gives everything back. Must not outlive its pool.
class Reservation {
 public:
  /// The right to no block at all.
  Reservation() = default;
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { release(); }

  /// Appends one free block to the table. The final count is not reached yet and the pool has a free block: under a
  /// policy that never overcommits the first implies the second.
  void take();
  /// Gives back the blocks and the right to more; the reservation is then as if default-constructed.
  void release();

  std::span<const int32_t> block_table() const { return blocks_; }
  int32_t taken_count() const { return static_cast<int32_t>(blocks_.size()); }
  int32_t final_count() const { return final_count_; }

 private:
  friend class BlockPool;
  Reservation(BlockPool& pool, int32_t final_count);

  BlockPool* pool_ = nullptr;
  int32_t final_count_ = 0;
  std::vector<int32_t> blocks_;
};

/// The blocks of one device's KV cache: ids 0 .. capacity - 1, each owned by at most one reservation. Knows no policy:
/// whether reservations fit together is the admission's business. One thread.
class BlockPool {
 public:
  /// Both at least 1; block_count * block_size, the number of slots, fits in an int32.
  BlockPool(int32_t block_count, int32_t block_size);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  /// All reservations have ended.
  ~BlockPool();

  /// The right to take `final_count` blocks, 0 .. capacity, one by one.
  Reservation reserve(int32_t final_count);

  BlockCounts counts() const;
  int32_t capacity() const { return static_cast<int32_t>(is_used_.size()); }
  int32_t block_size() const { return block_size_; }
  /// Blocks that hold `token_count` tokens.
  int64_t blocks_for(int64_t token_count) const { return (token_count + block_size_ - 1) / block_size_; }

 private:
  friend class Reservation;
  int32_t take();
  void give_back(std::span<const int32_t> blocks, int32_t final_count);

  const int32_t block_size_;
  std::vector<int32_t> free_;  // a stack: the block given back last is the likeliest to be in a processor's cache
  std::vector<bool> is_used_;  // [capacity]
  int32_t reserved_count_ = 0;
};

}  // namespace sluice::kvcache
