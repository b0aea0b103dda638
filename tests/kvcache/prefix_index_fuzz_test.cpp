#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kvcache/prefix_index.h"
#include "kvcache/shared_block_pool.h"
#include "tests/kvcache/naive_cache.h"

namespace sluice::kvcache {
namespace {

enum class Keys {
  kStrong,     // the shipped hasher's
  kColliding,  // so weak that different blocks have the same key all the time
};

/// Drives pool, tables and index, and their naive model, with the same random operations and compares them after each.
class CacheFuzz {
 public:
  CacheFuzz(uint64_t seed, Keys keys, int32_t groups)
      : random_(seed),
        keys_(keys),
        groups_(groups),
        pool_(draw(1, 12) * groups, {.block_size = draw(1, 3), .full_groups = groups}),
        index_(pool_),
        tables_(static_cast<size_t>(draw(1, 6))),
        model_(pool_.capacity(), pool_.block_size(), static_cast<size_t>(groups), tables_.size()) {}

  void run(int operation_count) {
    for (int i = 0; i < operation_count && !::testing::Test::HasFailure(); ++i) {
      operate(draw_place());
      compare();
    }
  }

  int64_t hit_count() const { return hit_count_; }
  int64_t eviction_count() const { return eviction_count_; }
  int64_t collision_count() const { return collision_count_; }

 private:
  int32_t draw(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(random_); }
  size_t draw_place() { return static_cast<size_t>(draw(0, static_cast<int32_t>(tables_.size()) - 1)); }

  void operate(size_t place) {
    switch (draw(0, 15)) {
      case 0:
      case 1:
        return start(place);
      case 2:
        return release(place);
      case 3:
        return move(place, draw_place());
      case 4:
        return fork(place, draw_place());
      case 5:
      case 6:
      case 7:
        return publish_any(place);
      case 8:
      case 9:
        return attach(place);
      case 10:
        return match(place);
      case 11:
        return draw(0, 9) == 0 ? clear() : take(place);
      default:
        return take(place);
    }
  }

  /// Of few different blocks, so that beginnings are often the same.
  NaiveSequence draw_sequence() {
    NaiveSequence sequence;
    std::string content = draw(0, 3) == 0 ? "b" : "a";
    const std::string salt = content;
    const int32_t block_count = draw(0, pool_.capacity() / groups_);
    for (int32_t number = 0; number < block_count; ++number) {
      for (int32_t i = 0; i < pool_.block_size(); ++i) sequence.tokens.push_back(draw(0, 5) / 5);
      for (int32_t i = pool_.block_size(); i > 0; --i) {
        content += ' ' + std::to_string(sequence.tokens[sequence.tokens.size() - static_cast<size_t>(i)]);
      }
      sequence.contents.push_back(content);
      sequence.keys.push_back({static_cast<uint64_t>(number), std::hash<std::string>()(content) % 2});
    }
    if (keys_ == Keys::kStrong) sequence.keys = prompt_keys(hasher_, salt, sequence.tokens, pool_.block_size());
    for (int32_t i = draw(0, pool_.block_size() - 1); i > 0; --i) sequence.tokens.push_back(0);  // not a full block
    return sequence;
  }

  void start(size_t place) {
    model_.release(model_.tables[place]);
    model_.tables[place].sequence = draw_sequence();
    tables_[place] = pool_.new_table(static_cast<int32_t>(model_.tables[place].sequence.keys.size()) * groups_);
    if (draw(0, 1) == 0) attach(place);
  }

  void release(size_t place) {
    tables_[place].release();
    model_.release(model_.tables[place]);
  }

  void move(size_t from, size_t to) {
    if (from == to) return;
    tables_[to] = std::move(tables_[from]);
    model_.release(model_.tables[to]);
    model_.tables[to] = std::exchange(model_.tables[from], {});
  }

  void fork(size_t parent, size_t child) {
    if (parent == child) return;
    release(child);
    model_.tables[child] = model_.tables[parent];
    tables_[child] = pool_.new_table(pool_.capacity());
    for (const int32_t block : tables_[parent].blocks()) tables_[child].share(block);
  }

  void publish_any(size_t place) {
    if (tables_[place].count() > 0) publish(place, draw(0, count(place) - 1));
  }

  /// Blocks of its sequence.
  int32_t count(size_t place) const { return tables_[place].count() / groups_; }

  void publish(size_t place, int32_t number) {
    const NaiveSequence& sequence = model_.tables[place].sequence;
    const auto block_size = static_cast<size_t>(pool_.block_size());
    index_.publish(tables_[place], number, sequence.keys[static_cast<size_t>(number)],
                   std::span(sequence.tokens).subspan(static_cast<size_t>(number) * block_size, block_size));
    model_.publish(model_.tables[place], static_cast<size_t>(number));
  }

  void attach(size_t place) {
    NaiveCache::Table& table = model_.tables[place];
    const int32_t limit = draw(0, pool_.capacity());
    const int32_t before = count(place);
    const int32_t attached = index_.attach(tables_[place], table.sequence.keys, table.sequence.tokens, limit);
    EXPECT_EQ(attached, model_.attach(table, limit));
    EXPECT_EQ(count(place), before + attached);
    for (int32_t i = before; i < before + attached; ++i) {
      for (int32_t group = 0; group < groups_; ++group) expect_right_hit(table.sequence, tables_[place], i, group);
    }
    hit_count_ += attached;
  }

  /// What was once computed into the block is what the sequence needs there.
  void expect_right_hit(const NaiveSequence& sequence, const BlockTable& table, int32_t number, int32_t group) {
    const int32_t block = table.blocks()[static_cast<size_t>(number * groups_ + group)];
    const std::string& found = model_.memory[static_cast<size_t>(block)];
    const std::string& needed = sequence.contents[static_cast<size_t>(number)];
    if (keys_ == Keys::kStrong) {
      EXPECT_EQ(found, needed);
    } else {
      // Keys this weak don't tell what came before; the block's own tokens are right all the same.
      const auto own = 2 * static_cast<size_t>(pool_.block_size());
      EXPECT_EQ(found.substr(found.size() - own), needed.substr(needed.size() - own));
    }
  }

  void match(size_t place) {
    const NaiveCache::Table& table = model_.tables[place];
    const int32_t from = draw(0, pool_.capacity());
    const int32_t limit = draw(0, pool_.capacity());
    EXPECT_EQ(index_.match(table.sequence.keys, table.sequence.tokens, from, limit),
              model_.match(table, static_cast<size_t>(from), limit));
    for (size_t i = 0; i < table.sequence.keys.size(); ++i) {
      const BlockKey& key = table.sequence.keys[i];
      collision_count_ += model_.known.contains({key.high, key.low}) && model_.match(table, i, 1) == 0;
    }
  }

  void take(size_t place) {
    NaiveCache::Table& table = model_.tables[place];
    if (model_.count(table) == table.sequence.keys.size() || model_.free_count() < groups_) return;
    for (int32_t group = 0; group < groups_; ++group) {
      tables_[place].take();
      const int32_t block = tables_[place].blocks().back();
      EXPECT_TRUE(model_.may_take(block)) << block;
      eviction_count_ += model_.empty.empty();
      model_.take(table, block);
    }
    if (draw(0, 3) > 0) publish(place, count(place) - 1);
  }

  void clear() {
    index_.clear();
    model_.clear();
  }

  void compare() const {
    for (size_t i = 0; i < tables_.size(); ++i) {
      const std::span<const int32_t> blocks = tables_[i].blocks();
      EXPECT_EQ(std::vector<int32_t>(blocks.begin(), blocks.end()), model_.tables[i].blocks);
      EXPECT_EQ(tables_[i].owned_count(), model_.owned_count(model_.tables[i]));
    }
    const SharedBlockCounts counts = pool_.counts();
    EXPECT_EQ(counts.capacity, pool_.capacity());
    EXPECT_EQ(counts.free + counts.used, counts.capacity);
    EXPECT_EQ(counts.free, model_.free_count());
    EXPECT_EQ(counts.used, model_.used_count());
    EXPECT_EQ(counts.shared, model_.shared_count());
    EXPECT_EQ(counts.cached, static_cast<int32_t>(model_.evictable.size()));
    EXPECT_EQ(index_.known_count(), static_cast<int64_t>(model_.known.size()));
    for (int32_t block = 0; block < pool_.capacity(); ++block) {
      EXPECT_EQ(pool_.is_kept(block), model_.is_kept(block)) << block;
    }
  }

  std::mt19937_64 random_;
  const Keys keys_;
  const int32_t groups_;
  const BlockHasher hasher_{std::vector<std::byte>(16), "model"};
  SharedBlockPool pool_;
  PrefixIndex index_;
  std::vector<BlockTable> tables_;
  NaiveCache model_;
  int64_t hit_count_ = 0;
  int64_t eviction_count_ = 0;
  int64_t collision_count_ = 0;
};

void expect_agreement(Keys keys, int32_t groups = 1) {
  int64_t hits = 0;
  int64_t evictions = 0;
  int64_t collisions = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CacheFuzz fuzz(seed, keys, groups);
    fuzz.run(400);
    if (::testing::Test::HasFailure()) return;
    hits += fuzz.hit_count();
    evictions += fuzz.eviction_count();
    collisions += fuzz.collision_count();
  }
  // The walks go where it is interesting.
  EXPECT_GT(hits, 5'000);
  EXPECT_GT(evictions, 5'000);
  if (keys == Keys::kStrong) {
    EXPECT_EQ(collisions, 0);
  } else {
    EXPECT_GT(collisions, 1'000);
  }
}

TEST(PrefixIndexFuzz, AgreesWithANaiveModel) {
  expect_agreement(Keys::kStrong);
}

TEST(PrefixIndexFuzz, AgreesWithANaiveModelOfSeveralGroups) {
  expect_agreement(Keys::kStrong, 2);
  expect_agreement(Keys::kStrong, 6);
}

TEST(PrefixIndexFuzz, AgreesWithANaiveModelOfSeveralGroupsWhenKeysCollide) {
  expect_agreement(Keys::kColliding, 3);
}

TEST(PrefixIndexFuzz, AgreesWithANaiveModelWhenKeysCollide) {
  expect_agreement(Keys::kColliding);
}

}  // namespace
}  // namespace sluice::kvcache
