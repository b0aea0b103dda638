#include "kvcache/block_growth.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace sluice::kvcache {
namespace {

constexpr BlockGrowth kPlain{.block_size = 16};
constexpr BlockGrowth kWindowed{.block_size = 16, .full_groups = 0, .window_groups = 1, .ring_blocks = 3, .window = 20};
constexpr BlockGrowth kMixed{.block_size = 16, .full_groups = 1, .window_groups = 5, .ring_blocks = 3, .window = 20};
constexpr BlockGrowth kOddly{.block_size = 3, .full_groups = 2, .window_groups = 3, .ring_blocks = 1, .window = 1};
constexpr std::array kShapes = {kPlain, kWindowed, kMixed, kOddly, BlockGrowth{.block_size = 1, .full_groups = 4}};

TEST(BlockGrowth, IsNotOfNoGroupsNorOfRingsWithoutPlaces) {
  for (const BlockGrowth& shape : kShapes) EXPECT_TRUE(shape.is_valid());
  EXPECT_FALSE((BlockGrowth{.block_size = 0}.is_valid()));
  EXPECT_FALSE((BlockGrowth{.full_groups = 0}.is_valid()));
  EXPECT_FALSE((BlockGrowth{.full_groups = -1, .window_groups = 2, .ring_blocks = 1, .window = 1}.is_valid()));
  EXPECT_FALSE((BlockGrowth{.full_groups = 2, .window_groups = -1}.is_valid()));
  EXPECT_FALSE((BlockGrowth{.window_groups = 1, .ring_blocks = 0, .window = 1}.is_valid()));
  EXPECT_FALSE((BlockGrowth{.window_groups = 1, .ring_blocks = 1, .window = 0}.is_valid()));
  EXPECT_FALSE((BlockGrowth{.window_groups = 0, .window = 1}.is_valid()));
  EXPECT_FALSE((BlockGrowth{.window_groups = 0, .ring_blocks = 1}.is_valid()));
  EXPECT_TRUE((BlockGrowth{.block_size = 4, .window_groups = 1, .ring_blocks = 2, .window = 5}.is_valid()));
  EXPECT_FALSE((BlockGrowth{.block_size = 4, .window_groups = 1, .ring_blocks = 2, .window = 6}.is_valid()))
      << "a ring without room for a slice";
}

engine::ModelConfig model_of(int32_t full_layers, int32_t windowed_layers, int32_t window) {
  engine::ModelConfig model;
  model.layer_count = full_layers + windowed_layers;
  model.layer_has_window.assign(static_cast<size_t>(full_layers), false);
  model.layer_has_window.insert(model.layer_has_window.end(), static_cast<size_t>(windowed_layers), true);
  model.window = windowed_layers > 0 ? window : 0;
  return model;
}

BlockGrowth growth_of(const engine::ModelConfig& model, int32_t block_size, int32_t slice_max) {
  return BlockGrowth::of(engine::KvLayout::for_model(model, block_size, engine::KvType::kF16, slice_max));
}

TEST(BlockGrowth, IsPlainForAModelWithoutWindows) {
  const BlockGrowth growth = growth_of(model_of(30, 0, 0), 16, 512);
  EXPECT_TRUE(growth.is_plain());
  EXPECT_EQ(growth.block_size, 16);
  EXPECT_EQ(growth.slice_max(), std::numeric_limits<int32_t>::max());
}

TEST(BlockGrowth, IsOfTheLayoutsGroups) {
  const BlockGrowth gemma = growth_of(model_of(3, 15, 512), 16, 512);
  EXPECT_EQ(gemma.full_groups, 1);
  EXPECT_EQ(gemma.window_groups, 5);
  EXPECT_EQ(gemma.ring_blocks, 65) << "1023 tokens, of which the first may be the last of its block";
  const BlockGrowth mistral = growth_of(model_of(0, 32, 4096), 16, 512);
  EXPECT_EQ(mistral.full_groups, 0);
  EXPECT_EQ(mistral.window_groups, 1);
}

/// Whether slices of `slice` tokens, wherever they begin, find all that their first tokens see when they are stored.
bool carries(const BlockGrowth& growth, int32_t window, int32_t slice) {
  const int32_t group = growth.groups() - 1;
  for (int32_t begin = 0; begin < 4 * growth.ring_blocks * growth.block_size; ++begin) {
    const int64_t oldest = std::max(0, begin - window + 1) / growth.block_size;
    const int64_t newest = (begin + slice - 1) / growth.block_size;
    for (int64_t number = oldest + 1; number <= newest; ++number) {
      if (growth.place_of(number, group) == growth.place_of(oldest, group)) return false;
    }
  }
  return true;
}

TEST(BlockGrowth, AllowsSlicesUpToWhatRingsHaveRoomFor) {
  for (const int32_t block_size : {1, 2, 3, 16}) {
    for (const int32_t window : {1, 2, 5, 16, 17}) {
      for (int32_t slice_max = 1; slice_max <= 35; ++slice_max) {
        const BlockGrowth growth = growth_of(model_of(1, 2, window), block_size, slice_max);
        EXPECT_GE(growth.slice_max(), slice_max);
        EXPECT_TRUE(carries(growth, window, growth.slice_max())) << block_size << ' ' << window << ' ' << slice_max;
        EXPECT_FALSE(carries(growth, window, growth.slice_max() + 1))
            << block_size << ' ' << window << ' ' << slice_max;
      }
    }
  }
}

TEST(BlockGrowth, SeesAllKeysInFullGroupsAndTheWindowInOthers) {
  EXPECT_EQ(kPlain.keys_seen(1000), 1000);
  EXPECT_EQ(kWindowed.keys_seen(19), 19);
  EXPECT_EQ(kWindowed.keys_seen(20), 20);
  EXPECT_EQ(kWindowed.keys_seen(21), 20);
  EXPECT_EQ(kMixed.keys_seen(20), 20);
  EXPECT_EQ(kMixed.keys_seen(620), (620 + 5 * 20) / 6);
  EXPECT_EQ(kMixed.keys_seen(621), 121) << "rounded up";
}

TEST(BlockGrowth, RoundsTokensUpToBlocks) {
  EXPECT_EQ(kPlain.blocks_for(0), 0);
  EXPECT_EQ(kPlain.blocks_for(1), 1);
  EXPECT_EQ(kPlain.blocks_for(16), 1);
  EXPECT_EQ(kPlain.blocks_for(17), 2);
  EXPECT_EQ(kPlain.blocks_for(int64_t{1} << 40), int64_t{1} << 36);
}

TEST(BlockGrowth, StopsWhereRingsAreFull) {
  EXPECT_EQ(kWindowed.blocks_for(48), 3);
  EXPECT_EQ(kWindowed.blocks_for(49), 3);
  EXPECT_EQ(kWindowed.blocks_for(int64_t{1} << 40), 3);
}

TEST(BlockGrowth, TakesABlockOfEachGroupThatGrows) {
  EXPECT_EQ(kMixed.blocks_for(1), 6);
  EXPECT_EQ(kMixed.blocks_for(48), 18);
  EXPECT_EQ(kMixed.blocks_for(49), 19);
  EXPECT_EQ(kMixed.blocks_for(160), 25);
}

TEST(BlockGrowth, FindsTheMostTokensThatBlocksHold) {
  for (const BlockGrowth& shape : kShapes) {
    for (int64_t blocks = 0; blocks < 60; ++blocks) {
      const int64_t tokens = shape.tokens_for(blocks);
      if (tokens == BlockGrowth::kUnbounded) {
        EXPECT_EQ(shape.full_groups, 0);
        EXPECT_GE(blocks, shape.blocks_for(int64_t{1} << 40));
        continue;
      }
      EXPECT_LE(shape.blocks_for(tokens), blocks);
      EXPECT_GT(shape.blocks_for(tokens + 1), blocks);
    }
  }
}

TEST(BlockGrowth, WrapsPastTheRings) {
  EXPECT_FALSE(kWindowed.wraps(48));
  EXPECT_TRUE(kWindowed.wraps(49));
  EXPECT_FALSE(kMixed.wraps(48));
  EXPECT_TRUE(kMixed.wraps(49));
  EXPECT_FALSE(kPlain.wraps(int64_t{1} << 40));
}

// A table grows at its end alone, and each group's last blocks of the context are all in places of their own.
TEST(BlockGrowth, GivesEachBlockThatIsHeldAPlaceInTheTable) {
  for (const BlockGrowth& shape : kShapes) {
    for (int64_t last = 0; last < 12; ++last) {
      std::set<int64_t> places;
      for (int32_t group = 0; group < shape.groups(); ++group) {
        const int64_t held = group < shape.full_groups ? last + 1 : std::min<int64_t>(last + 1, shape.ring_blocks);
        for (int64_t number = last + 1 - held; number <= last; ++number) {
          EXPECT_TRUE(places.insert(shape.place_of(number, group)).second) << "group " << group << " block " << number;
        }
      }
      EXPECT_EQ(static_cast<int64_t>(places.size()), shape.blocks_for((last + 1) * shape.block_size));
      EXPECT_EQ(*places.begin(), 0);
      EXPECT_EQ(*places.rbegin() + 1, static_cast<int64_t>(places.size()));
    }
  }
}

TEST(BlockGrowth, WritesABlockOfARingOverTheOneThatIsAsManyBefore) {
  for (const BlockGrowth& shape : {kWindowed, kMixed, kOddly}) {
    for (int64_t number = 0; number < 10; ++number) {
      EXPECT_EQ(shape.place_of(number + shape.ring_blocks, shape.groups() - 1),
                shape.place_of(number, shape.groups() - 1));
    }
  }
}

}  // namespace
}  // namespace sluice::kvcache
