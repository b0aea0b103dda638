#include "kvcache/block_pool.h"

#include <limits>
#include <utility>

#include "base/check.h"

namespace sluice::kvcache {

Reservation::Reservation(BlockPool& pool, int32_t final_count) : pool_(&pool), final_count_(final_count) {
  // The table grows in the middle of a step; all its memory is found here instead.
  blocks_.reserve(static_cast<size_t>(final_count));
}

Reservation::Reservation(Reservation&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      final_count_(std::exchange(other.final_count_, 0)),
      blocks_(std::exchange(other.blocks_, {})) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  release();
  pool_ = std::exchange(other.pool_, nullptr);
  final_count_ = std::exchange(other.final_count_, 0);
  blocks_ = std::exchange(other.blocks_, {});
  return *this;
}

void Reservation::take() {
  SLUICE_CHECK(taken_count() < final_count_);
  blocks_.push_back(pool_->take());
}

void Reservation::release() {
  if (pool_ == nullptr) return;
  pool_->give_back(blocks_, final_count_);
  pool_ = nullptr;
  final_count_ = 0;
  blocks_.clear();
}

BlockPool::BlockPool(int32_t block_count, int32_t block_size) : block_size_(block_size) {
  SLUICE_CHECK(block_count >= 1);
  SLUICE_CHECK(block_size >= 1);
  SLUICE_CHECK(int64_t{block_count} * block_size <= std::numeric_limits<int32_t>::max());
  is_used_.resize(static_cast<size_t>(block_count), false);
  free_.reserve(is_used_.size());
  // Downwards, so that an idle pool hands out block 0 first and a lightly loaded one touches little memory.
  for (int32_t block = block_count - 1; block >= 0; --block) free_.push_back(block);
}

BlockPool::~BlockPool() {
  SLUICE_CHECK(free_.size() == is_used_.size());
  SLUICE_CHECK(reserved_count_ == 0);
}

Reservation BlockPool::reserve(int32_t final_count) {
  SLUICE_CHECK(final_count >= 0);
  SLUICE_CHECK(final_count <= capacity());
  SLUICE_CHECK(reserved_count_ <= std::numeric_limits<int32_t>::max() - final_count);
  reserved_count_ += final_count;
  return {*this, final_count};
}

BlockCounts BlockPool::counts() const {
  const auto free = static_cast<int32_t>(free_.size());
  return {.capacity = capacity(), .free = free, .used = capacity() - free, .reserved = reserved_count_};
}

int32_t BlockPool::take() {
  SLUICE_CHECK(!free_.empty());
  const int32_t block = free_.back();
  free_.pop_back();
  is_used_[static_cast<size_t>(block)] = true;
  return block;
}

void BlockPool::give_back(std::span<const int32_t> blocks, int32_t final_count) {
  // Last block first: the next sequence then takes them in the order this one had.
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    SLUICE_CHECK(is_used_[static_cast<size_t>(*block)]);
    is_used_[static_cast<size_t>(*block)] = false;
    free_.push_back(*block);
  }
  reserved_count_ -= final_count;
  SLUICE_CHECK(reserved_count_ >= 0);
}

}  // namespace sluice::kvcache
