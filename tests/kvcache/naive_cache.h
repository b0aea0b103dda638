#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kvcache/block_key.h"

namespace sluice::kvcache {

/// A sequence with its keys and what each of its blocks is good for: everything from the beginning, salt first.
struct NaiveSequence {
  std::vector<int32_t> tokens;
  std::vector<BlockKey> keys;
  std::vector<std::string> contents;
};

/// Pool, tables and index as one would write them without a care for time: sets, maps and walks over everything. Each
/// block of a sequence is `groups` blocks of the pool, one after the other in its table.
class NaiveCache {
 public:
  struct Table {
    NaiveSequence sequence;
    std::vector<int32_t> blocks;
  };
  struct Known {
    std::vector<int32_t> blocks;  // [groups]
    std::vector<int32_t> tokens;
  };

  NaiveCache(int32_t capacity, int32_t block_size, size_t groups, size_t table_count);

  int32_t match(const Table& table, size_t from, int32_t limit) const;
  int32_t attach(Table& table, int32_t limit);
  /// Whether take() may hand out `block` now.
  bool may_take(int32_t block) const;
  void take(Table& table, int32_t block);
  void publish(const Table& table, size_t number);
  /// Whole blocks of its sequence that the table has.
  size_t count(const Table& table) const { return table.blocks.size() / groups_; }
  void release(Table& table);
  void clear();

  int32_t holder_count(int32_t block) const;
  int32_t used_count() const;
  int32_t shared_count() const;
  int32_t owned_count(const Table& table) const;
  int32_t free_count() const { return static_cast<int32_t>(empty.size() + evictable.size()); }
  bool is_kept(int32_t block) const;

  std::vector<Table> tables;
  std::map<std::pair<uint64_t, uint64_t>, Known> known;
  std::set<int32_t> empty;
  std::deque<int32_t> evictable;    // the first goes first
  std::vector<std::string> memory;  // [capacity] what was computed into each block

 private:
  std::span<const int32_t> tokens_of(const Table& table, size_t number) const;
  const Known* find(const Table& table, size_t number) const;
  void forget(int32_t block);

  const int32_t block_size_;
  const size_t groups_;
};

}  // namespace sluice::kvcache
