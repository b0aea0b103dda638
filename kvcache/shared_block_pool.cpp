#include "kvcache/shared_block_pool.h"

#include <limits>
#include <utility>

#include "base/check.h"

namespace sluice::kvcache {

BlockTable::BlockTable(BlockTable&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), place_(std::exchange(other.place_, 0)) {}

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  if (this == &other) return *this;
  release();
  pool_ = std::exchange(other.pool_, nullptr);
  place_ = std::exchange(other.place_, 0);
  return *this;
}

void BlockTable::take() {
  SLUICE_CHECK(pool_ != nullptr);
  pool_->append(place_, pool_->take_free());
}

void BlockTable::share(int32_t block) {
  SLUICE_CHECK(pool_ != nullptr);
  SLUICE_CHECK(block >= 0 && block < pool_->capacity());
  pool_->share(place_, block);
}

void BlockTable::release() {
  if (pool_ == nullptr) return;
  pool_->end_table(place_);
  pool_ = nullptr;
  place_ = 0;
}

std::span<const int32_t> BlockTable::blocks() const {
  if (pool_ == nullptr) return {};
  return pool_->holding(place_).blocks;
}

int32_t BlockTable::owned_count() const {
  return pool_ == nullptr ? 0 : pool_->holding(place_).owned_count;
}

SharedBlockPool::SharedBlockPool(int32_t block_count, const BlockGrowth& growth)
    : growth_(growth), cached_(block_count) {
  SLUICE_CHECK(block_count >= 1);
  SLUICE_CHECK(growth.block_size >= 1);
  SLUICE_CHECK(growth.is_valid());
  SLUICE_CHECK(int64_t{block_count} * growth.block_size <= std::numeric_limits<int32_t>::max());
  blocks_.resize(static_cast<size_t>(block_count));
  empty_.reserve(blocks_.size());
  // Downwards, so that an idle pool hands out block 0 first and a lightly loaded one touches little memory.
  for (int32_t block = block_count - 1; block >= 0; --block) empty_.push_back(block);
}

SharedBlockPool::~SharedBlockPool() {
  SLUICE_CHECK(counts().used == 0);
  SLUICE_CHECK(no_holding_.size() == holdings_.size());
}

BlockTable SharedBlockPool::new_table(int32_t block_count_max) {
  SLUICE_CHECK(block_count_max >= 0);
  SLUICE_CHECK(block_count_max <= capacity());
  if (no_holding_.empty()) {
    no_holding_.push_back(static_cast<int32_t>(holdings_.size()));
    holdings_.emplace_back();
    no_holding_.reserve(holdings_.capacity());  // so that the end of a table finds room
  }
  const int32_t place = no_holding_.back();
  no_holding_.pop_back();
  holding(place).blocks.reserve(static_cast<size_t>(block_count_max));
  return {*this, place};
}

SharedBlockCounts SharedBlockPool::counts() const {
  const int32_t free = static_cast<int32_t>(empty_.size()) + cached_.size();
  return {.capacity = capacity(),
          .free = free,
          .cached = cached_.size(),
          .used = capacity() - free,
          .shared = shared_count_};
}

void SharedBlockPool::set_eviction_sink(EvictionSink* sink) {
  SLUICE_CHECK(sink == nullptr || sink_ == nullptr);
  sink_ = sink;
}

void SharedBlockPool::keep(int32_t block) {
  SLUICE_CHECK(at(block).holder_count > 0);
  at(block).is_kept = true;
}

void SharedBlockPool::discard(int32_t block) {
  SLUICE_CHECK(at(block).is_kept);
  at(block).is_kept = false;
  if (at(block).holder_count > 0) return;
  cached_.remove(block);
  empty_.push_back(block);
}

int32_t SharedBlockPool::take_free() {
  if (empty_.empty()) return evict();
  const int32_t block = empty_.back();
  empty_.pop_back();
  return block;
}

int32_t SharedBlockPool::evict() {
  SLUICE_CHECK(!cached_.empty());  // the pool has a free block
  const int32_t block = cached_.front();
  cached_.remove(block);
  at(block).is_kept = false;
  if (sink_ != nullptr) sink_->evicted(block);
  return block;
}

void SharedBlockPool::share(int32_t place, int32_t block) {
  const Block& state = at(block);
  SLUICE_CHECK(state.holder_count > 0 || state.is_kept);
  SLUICE_CHECK(!(state.holder_count == 1 && state.holders == place));
  if (state.holder_count == 0) cached_.remove(block);
  append(place, block);
}

void SharedBlockPool::append(int32_t place, int32_t block) {
  holding(place).blocks.push_back(block);
  Block& state = at(block);
  state.holders ^= place;
  ++state.holder_count;
  if (state.holder_count == 1) ++holding(place).owned_count;
  if (state.holder_count == 2) {
    const int32_t owner = state.holders ^ place;
    --holding(owner).owned_count;
    ++shared_count_;
  }
}

void SharedBlockPool::give_back(int32_t place, int32_t block) {
  Block& state = at(block);
  SLUICE_CHECK(state.holder_count > 0);
  state.holders ^= place;
  --state.holder_count;
  if (state.holder_count == 1) {
    ++holding(state.holders).owned_count;
    --shared_count_;
  }
  if (state.holder_count > 0) return;
  --holding(place).owned_count;
  free(block);
}

void SharedBlockPool::free(int32_t block) {
  if (at(block).is_kept) {
    cached_.push_back(block);
  } else {
    empty_.push_back(block);
  }
}

void SharedBlockPool::end_table(int32_t place) {
  std::vector<int32_t>& blocks = holding(place).blocks;
  // Last block first: empty ones are then taken in the order this table had, and cached ones evicted in the other.
  for (; !blocks.empty(); blocks.pop_back()) give_back(place, blocks.back());
  SLUICE_CHECK(holding(place).owned_count == 0);
  no_holding_.push_back(place);
}

}  // namespace sluice::kvcache
