#include "engine/cuda/kernels/group_by_expert.cuh"

#include <algorithm>
#include <array>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

/// Choices in the order in which rows have them.
std::vector<int32_t> sorted_choices(const std::vector<int32_t>& chosen) {
  std::vector<int32_t> order(chosen.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return chosen[static_cast<size_t>(a)] < chosen[static_cast<size_t>(b)];
  });
  return order;
}

std::vector<ExpertTile> expected_tiles(const std::vector<int32_t>& chosen, int32_t experts, int32_t tile_rows) {
  std::vector<ExpertTile> tiles;
  int32_t first = 0;
  for (int32_t expert = 0; expert < experts; ++expert) {
    auto left = static_cast<int32_t>(std::count(chosen.begin(), chosen.end(), expert));
    while (left > 0) {
      const int32_t count = std::min(left, tile_rows);
      tiles.push_back({expert, first, count});
      first += count;
      left -= count;
    }
  }
  return tiles;
}

void expect_groups(const std::vector<int32_t>& chosen, int32_t per_token, int32_t experts, int32_t tile_rows) {
  SCOPED_TRACE(testing::Message() << chosen.size() << " rows, " << experts << " experts, tiles of " << tile_rows);
  const auto rows = static_cast<int32_t>(chosen.size());
  const int32_t tile_count = expert_tiles_max(rows, experts, tile_rows);
  std::vector<int32_t> tokens_of;
  std::vector<int32_t> rows_of;
  const auto tiles = run_in_all_orders([&](void* stream) {
    GuardedBuffer<int32_t> tokens_buffer(rows);
    GuardedBuffer<int32_t> rows_buffer(rows);
    GuardedBuffer<ExpertTile> tiles_buffer(tile_count);
    EXPECT_EQ(launch_group_by_expert({.chosen = chosen.data(),
                                      .tokens_of = tokens_buffer.data(),
                                      .rows_of = rows_buffer.data(),
                                      .tiles = tiles_buffer.data(),
                                      .rows = rows,
                                      .per_token = per_token,
                                      .experts = experts,
                                      .tile_rows = tile_rows},
                                     stream),
              0);
    std::vector<ExpertTile> result = tiles_buffer.take();
    tokens_of = tokens_buffer.take();
    rows_of = rows_buffer.take();
    return result;
  });
  const std::vector<int32_t> order = sorted_choices(chosen);
  for (int32_t row = 0; row < rows; ++row) {
    const int32_t choice = order[static_cast<size_t>(row)];
    ASSERT_EQ(tokens_of[static_cast<size_t>(row)], choice / per_token) << "row " << row;
    ASSERT_EQ(rows_of[static_cast<size_t>(choice)], row) << "choice " << choice;
  }
  std::vector<ExpertTile> expected = expected_tiles(chosen, experts, tile_rows);
  ASSERT_LE(expected.size(), tiles.size());
  expected.resize(tiles.size());
  for (size_t i = 0; i < tiles.size(); ++i) {
    ASSERT_EQ(tiles[i].expert, expected[i].expert) << "tile " << i;
    ASSERT_EQ(tiles[i].first, expected[i].first) << "tile " << i;
    ASSERT_EQ(tiles[i].count, expected[i].count) << "tile " << i;
  }
}

TEST(GroupByExpertKernel, SortsChoicesByExpertAndCutsTiles) {
  Random random(6);
  for (const auto& [tokens, per_token, experts] :
       {std::array{1, 1, 1}, std::array{1, 8, 128}, std::array{3, 2, 4}, std::array{67, 8, 128}, std::array{700, 2, 8},
        std::array{40, 32, kRoutedExpertsMax}}) {
    std::vector<int32_t> chosen(static_cast<size_t>(tokens * per_token));
    for (int32_t& expert : chosen) expert = random.integer(0, experts - 1);
    for (const int32_t tile_rows : {16, 64}) expect_groups(chosen, per_token, experts, tile_rows);
  }
}

TEST(GroupByExpertKernel, TakesAllTokensToOneExpertAndNoneToOthers) {
  for (const int32_t expert : {0, 5, 511}) {
    for (const int32_t tokens : {1, 16, 17, 600}) {
      const std::vector<int32_t> chosen(static_cast<size_t>(tokens), expert);
      expect_groups(chosen, 1, kRoutedExpertsMax, 16);
    }
  }
  const std::vector<int32_t> first_and_last = {7, 0, 0, 7, 7, 0, 7, 7};
  expect_groups(first_and_last, 2, 8, 16);
}

// Every expert has one row more than its tiles are full of: there can't be more tiles.
TEST(GroupByExpertKernel, HasRoomForAsManyTilesAsThereCanBe) {
  std::vector<int32_t> chosen(17 * 8);
  for (int32_t i = 0; i < 17 * 8; ++i) chosen[static_cast<size_t>(i)] = i % 8;
  expect_groups(chosen, 1, 8, 16);
  EXPECT_EQ(expected_tiles(chosen, 8, 16).size(), static_cast<size_t>(expert_tiles_max(17 * 8, 8, 16)));
}

}  // namespace
}  // namespace sluice::engine::cuda
