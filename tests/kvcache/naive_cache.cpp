#include "tests/kvcache/naive_cache.h"

#include <algorithm>

namespace sluice::kvcache {

NaiveCache::NaiveCache(int32_t capacity, int32_t block_size, size_t groups, size_t table_count)
    : tables(table_count), memory(static_cast<size_t>(capacity)), block_size_(block_size), groups_(groups) {
  for (int32_t block = 0; block < capacity; ++block) empty.insert(block);
}

std::span<const int32_t> NaiveCache::tokens_of(const Table& table, size_t number) const {
  const auto block_size = static_cast<size_t>(block_size_);
  return std::span(table.sequence.tokens).subspan(number * block_size, block_size);
}

const NaiveCache::Known* NaiveCache::find(const Table& table, size_t number) const {
  if (number >= table.sequence.keys.size()) return nullptr;
  const BlockKey& key = table.sequence.keys[number];
  const auto found = known.find({key.high, key.low});
  if (found == known.end()) return nullptr;
  return std::ranges::equal(found->second.tokens, tokens_of(table, number)) ? &found->second : nullptr;
}

int32_t NaiveCache::match(const Table& table, size_t from, int32_t limit) const {
  int32_t matched = 0;
  while (matched < limit && find(table, from + static_cast<size_t>(matched)) != nullptr) ++matched;
  return matched;
}

int32_t NaiveCache::attach(Table& table, int32_t limit) {
  const int32_t attached = match(table, count(table), limit);
  for (int32_t i = 0; i < attached; ++i) {
    const Known* const found = find(table, count(table));
    for (const int32_t block : found->blocks) std::erase(evictable, block);
    table.blocks.insert(table.blocks.end(), found->blocks.begin(), found->blocks.end());
  }
  return attached;
}

bool NaiveCache::may_take(int32_t block) const {
  return empty.empty() ? block == evictable.front() : empty.contains(block);
}

void NaiveCache::take(Table& table, int32_t block) {
  if (empty.erase(block) == 0) {
    std::erase(evictable, block);
    forget(block);
  }
  memory[static_cast<size_t>(block)] = table.sequence.contents[count(table)];
  table.blocks.push_back(block);
}

void NaiveCache::publish(const Table& table, size_t number) {
  const BlockKey& key = table.sequence.keys[number];
  const std::span<const int32_t> tokens = tokens_of(table, number);
  const auto blocks = std::span(table.blocks).subspan(number * groups_, groups_);
  known.insert({{key.high, key.low}, {{blocks.begin(), blocks.end()}, {tokens.begin(), tokens.end()}}});
}

void NaiveCache::release(Table& table) {
  while (!table.blocks.empty()) {
    const int32_t block = table.blocks.back();
    table.blocks.pop_back();
    if (holder_count(block) > 0) continue;
    if (is_kept(block)) {
      evictable.push_back(block);
    } else {
      empty.insert(block);
    }
  }
  table = {};
}

void NaiveCache::clear() {
  known.clear();
  empty.insert(evictable.begin(), evictable.end());
  evictable.clear();
}

int32_t NaiveCache::holder_count(int32_t block) const {
  return static_cast<int32_t>(
      std::ranges::count_if(tables, [&](const Table& table) { return std::ranges::count(table.blocks, block) > 0; }));
}

int32_t NaiveCache::used_count() const {
  std::set<int32_t> used;
  for (const Table& table : tables) used.insert(table.blocks.begin(), table.blocks.end());
  return static_cast<int32_t>(used.size());
}

int32_t NaiveCache::shared_count() const {
  int32_t shared = 0;
  for (size_t block = 0; block < memory.size(); ++block) shared += holder_count(static_cast<int32_t>(block)) > 1;
  return shared;
}

int32_t NaiveCache::owned_count(const Table& table) const {
  return static_cast<int32_t>(
      std::ranges::count_if(table.blocks, [&](int32_t block) { return holder_count(block) == 1; }));
}

bool NaiveCache::is_kept(int32_t block) const {
  return std::ranges::any_of(known,
                             [&](const auto& entry) { return std::ranges::count(entry.second.blocks, block) > 0; });
}

void NaiveCache::forget(int32_t block) {
  const auto entry = std::ranges::find_if(
      known, [&](const auto& candidate) { return std::ranges::count(candidate.second.blocks, block) > 0; });
  for (const int32_t other : entry->second.blocks) {
    if (std::erase(evictable, other) > 0) empty.insert(other);
  }
  known.erase(entry);
}

}  // namespace sluice::kvcache
