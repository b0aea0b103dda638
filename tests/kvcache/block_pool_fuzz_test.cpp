#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "kvcache/block_pool.h"

namespace sluice::kvcache {
namespace {

/// One reservation as the naive model sees it: a number and a list, no cleverness.
struct NaiveReservation {
  int32_t final_count = 0;
  std::vector<int32_t> table;
};

/// Drives a pool and its naive model with the same random operations and compares them after each.
class PoolFuzz {
 public:
  explicit PoolFuzz(uint64_t seed)
      : random_(seed),
        pool_(draw(1, 40), draw(1, 32)),
        handles_(static_cast<size_t>(draw(1, 12))),
        models_(handles_.size()) {}

  void run(int operation_count) {
    for (int i = 0; i < operation_count && !::testing::Test::HasFailure(); ++i) {
      operate(static_cast<size_t>(draw(0, static_cast<int32_t>(handles_.size()) - 1)));
      compare();
    }
  }

 private:
  int32_t draw(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(random_); }

  void operate(size_t place) {
    switch (draw(0, 5)) {
      case 0:
        return reserve(place);
      case 1:
        return release(place);
      case 2:
        return move_to(place, static_cast<size_t>(draw(0, static_cast<int32_t>(handles_.size()) - 1)));
      default:
        return take(place);
    }
  }

  void reserve(size_t place) {
    const int32_t final_count = draw(0, pool_.capacity());
    handles_[place] = pool_.reserve(final_count);
    models_[place] = {final_count, {}};
  }

  void release(size_t place) {
    handles_[place].release();
    models_[place] = {};
  }

  void move_to(size_t from, size_t to) {
    if (from == to) return;
    handles_[to] = std::move(handles_[from]);
    models_[to] = std::exchange(models_[from], {});
  }

  void take(size_t place) {
    const NaiveReservation& model = models_[place];
    if (static_cast<int32_t>(model.table.size()) == model.final_count) return;
    if (used_by_models() == pool_.capacity()) return;
    const std::set<int32_t> owned = owned_by_models();
    handles_[place].take();
    const int32_t block = handles_[place].block_table().back();
    EXPECT_GE(block, 0);
    EXPECT_LT(block, pool_.capacity());
    EXPECT_FALSE(owned.contains(block)) << "block " << block << " is owned twice";
    models_[place].table.push_back(block);
  }

  int32_t used_by_models() const {
    size_t used = 0;
    for (const NaiveReservation& model : models_) used += model.table.size();
    return static_cast<int32_t>(used);
  }

  std::set<int32_t> owned_by_models() const {
    std::set<int32_t> owned;
    for (const NaiveReservation& model : models_) owned.insert(model.table.begin(), model.table.end());
    return owned;
  }

  void compare() const {
    int32_t reserved = 0;
    for (size_t i = 0; i < models_.size(); ++i) {
      const std::span<const int32_t> table = handles_[i].block_table();
      EXPECT_EQ(std::vector<int32_t>(table.begin(), table.end()), models_[i].table);
      EXPECT_EQ(handles_[i].final_count(), models_[i].final_count);
      EXPECT_EQ(handles_[i].taken_count(), static_cast<int32_t>(models_[i].table.size()));
      reserved += models_[i].final_count;
    }
    const BlockCounts counts = pool_.counts();
    EXPECT_EQ(counts.used, used_by_models());
    EXPECT_EQ(counts.free + counts.used, counts.capacity);
    EXPECT_EQ(counts.reserved, reserved);
  }

  std::mt19937_64 random_;
  BlockPool pool_;
  std::vector<Reservation> handles_;
  std::vector<NaiveReservation> models_;
};

TEST(BlockPoolFuzz, AgreesWithANaiveModel) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PoolFuzz(seed).run(300);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace sluice::kvcache
