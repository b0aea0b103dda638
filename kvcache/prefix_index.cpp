#include "kvcache/prefix_index.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace sluice::kvcache {
namespace {

/// Block number `number` of a sequence.
std::span<const int32_t> block_of(std::span<const int32_t> tokens, int32_t number, int32_t block_size) {
  return tokens.subspan(static_cast<size_t>(number) * static_cast<size_t>(block_size), static_cast<size_t>(block_size));
}

/// Those of the pool that hold block number `number` of the table's context, one for each group.
std::span<const int32_t> blocks_of(const BlockTable& table, int32_t number, int32_t groups) {
  return table.blocks().subspan(static_cast<size_t>(number) * static_cast<size_t>(groups), static_cast<size_t>(groups));
}

}  // namespace

PrefixIndex::PrefixIndex(SharedBlockPool& pool)
    : pool_(pool),
      groups_(pool.growth().groups()),
      tokens_(static_cast<size_t>(pool.capacity()) * static_cast<size_t>(pool.block_size())),
      others_(static_cast<size_t>(pool.capacity()) * static_cast<size_t>(groups_ - 1)),
      keys_(static_cast<size_t>(pool.capacity())),
      first_(std::bit_ceil(keys_.size()), kNone),
      next_(keys_.size(), kNone) {
  pool_.set_eviction_sink(this);
}

PrefixIndex::~PrefixIndex() {
  clear();
  pool_.set_eviction_sink(nullptr);
}

int32_t PrefixIndex::match(std::span<const BlockKey> keys, std::span<const int32_t> tokens, int32_t from,
                           int32_t limit) const {
  SLUICE_CHECK(from >= 0);
  int32_t matched = 0;
  while (matched < limit && find(keys, tokens, from + matched) != kNone) ++matched;
  return matched;
}

int32_t PrefixIndex::attach(BlockTable& table, std::span<const BlockKey> keys, std::span<const int32_t> tokens,
                            int32_t limit) {
  for (int32_t attached = 0; attached < limit; ++attached) {
    const int32_t block = find(keys, tokens, table.count() / groups_);
    if (block == kNone) return attached;
    for (const int32_t other : others_of(block)) table.share(other);
    table.share(block);
  }
  return std::max(limit, 0);
}

void PrefixIndex::publish(const BlockTable& table, int32_t number, const BlockKey& key,
                          std::span<const int32_t> tokens) {
  SLUICE_CHECK(number >= 0 && number < table.count() / groups_);
  SLUICE_CHECK(tokens.size() == static_cast<size_t>(pool_.block_size()));
  if (find(key) != kNone) return;
  const std::span<const int32_t> blocks = blocks_of(table, number, groups_);
  for (const int32_t block : blocks) {
    SLUICE_CHECK(!pool_.is_kept(block));  // a full block's content never changes
    pool_.keep(block);
  }
  const int32_t last = blocks.back();
  std::copy(tokens.begin(), tokens.end(), tokens_of(last).begin());
  std::copy(blocks.begin(), blocks.end() - 1, others_of(last).begin());
  insert(last, key);
}

void PrefixIndex::clear() {
  // Downwards, so that an idle pool hands out its first blocks first again.
  for (int32_t block = pool_.capacity() - 1; block >= 0; --block) {
    if (pool_.is_kept(block)) pool_.discard(block);
  }
  std::fill(first_.begin(), first_.end(), kNone);
  known_count_ = 0;
}

void PrefixIndex::evicted(int32_t block) {
  erase(block);
  for (const int32_t other : others_of(block)) pool_.discard(other);
}

int32_t PrefixIndex::find(const BlockKey& key) const {
  int32_t block = first_[chain_of(key)];
  while (block != kNone && keys_[static_cast<size_t>(block)] != key) block = next_[static_cast<size_t>(block)];
  return block;
}

int32_t PrefixIndex::find(std::span<const BlockKey> keys, std::span<const int32_t> tokens, int32_t number) const {
  SLUICE_CHECK(tokens.size() / static_cast<size_t>(pool_.block_size()) >= keys.size());
  if (static_cast<size_t>(number) >= keys.size()) return kNone;
  const int32_t block = find(keys[static_cast<size_t>(number)]);
  if (block == kNone) return kNone;
  const bool is_equal = std::ranges::equal(tokens_of(block), block_of(tokens, number, pool_.block_size()));
  return is_equal ? block : kNone;
}

std::span<int32_t> PrefixIndex::others_of(int32_t block) {
  const auto others = static_cast<size_t>(groups_ - 1);
  return std::span(others_).subspan(static_cast<size_t>(block) * others, others);
}

std::span<int32_t> PrefixIndex::tokens_of(int32_t block) {
  const auto block_size = static_cast<size_t>(pool_.block_size());
  return std::span(tokens_).subspan(static_cast<size_t>(block) * block_size, block_size);
}

std::span<const int32_t> PrefixIndex::tokens_of(int32_t block) const {
  return block_of(tokens_, block, pool_.block_size());
}

void PrefixIndex::insert(int32_t block, const BlockKey& key) {
  keys_[static_cast<size_t>(block)] = key;
  int32_t& first = first_[chain_of(key)];
  next_[static_cast<size_t>(block)] = first;
  first = block;
  ++known_count_;
}

void PrefixIndex::erase(int32_t block) {
  int32_t* link = &first_[chain_of(keys_[static_cast<size_t>(block)])];
  while (*link != block) {
    SLUICE_CHECK(*link != kNone);
    link = &next_[static_cast<size_t>(*link)];
  }
  *link = next_[static_cast<size_t>(block)];
  --known_count_;
}

}  // namespace sluice::kvcache
