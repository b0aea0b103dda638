#include "engine/layer_groups.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/kv_layout.h"

namespace sluice::engine {
namespace {

ModelConfig model_of(std::vector<bool> layer_has_window, int32_t window) {
  ModelConfig model;
  model.layer_count = static_cast<int32_t>(layer_has_window.size());
  model.kv_head_count = 1;
  model.head_dim = 8;
  model.window = window;
  model.layer_has_window = std::move(layer_has_window);
  return model;
}

TEST(LayerGroups, AModelWithoutWindowsIsOneGroupOfAllLayers) {
  ModelConfig model = model_of(std::vector<bool>(5, false), 0);
  model.layer_has_window.clear();
  const LayerGroups groups = LayerGroups::for_model(model, 16, 64);
  EXPECT_EQ(groups.layers_per_block, 5);
  EXPECT_EQ(groups.full_groups, 1);
  EXPECT_EQ(groups.window_groups, 0);
  EXPECT_EQ(groups.ring_blocks, 0);
  EXPECT_EQ(groups.places[4].group, 0);
  EXPECT_EQ(groups.places[4].index, 4);
}

TEST(LayerGroups, AModelWithWindowsAloneIsOneRing) {
  const LayerGroups groups = LayerGroups::for_model(model_of(std::vector<bool>(3, true), 24), 16, 8);
  EXPECT_EQ(groups.layers_per_block, 3);
  EXPECT_EQ(groups.full_groups, 0);
  EXPECT_EQ(groups.window_groups, 1);
}

TEST(LayerGroups, BothKindsShareBlocksOfOneSize) {
  const LayerGroups groups =
      LayerGroups::for_model(model_of({true, true, false, true, true, false}, 24), 16, 8);  // 4 and 2
  EXPECT_EQ(groups.layers_per_block, 2);
  EXPECT_EQ(groups.full_groups, 1);
  EXPECT_EQ(groups.window_groups, 2);
  EXPECT_EQ(groups.places[2].group, 0);
  EXPECT_EQ(groups.places[5].index, 1);
  EXPECT_EQ(groups.places[0].group, 1);
  EXPECT_EQ(groups.places[3].group, 2);
  EXPECT_FALSE(groups.has_window(0));
  EXPECT_TRUE(groups.has_window(2));
}

/// Blocks that hold anything of tokens [first, first + count).
int32_t touched_blocks(int32_t first, int32_t count, int32_t block_size) {
  return (first + count - 1) / block_size - first / block_size + 1;
}

TEST(LayerGroups, ARingHoldsTheWindowAndASliceWhereverTheyBegin) {
  for (const int32_t block_size : {1, 4, 16}) {
    for (const int32_t window : {1, 15, 16, 17, 24}) {
      for (const int32_t slice : {1, 5, 16, 64}) {
        const LayerGroups groups = LayerGroups::for_model(model_of({true}, window), block_size, slice);
        int32_t most = 0;
        for (int32_t first = 0; first < block_size; ++first) {
          most = std::max(most, touched_blocks(first, window - 1 + slice, block_size));
        }
        EXPECT_EQ(groups.ring_blocks, most) << block_size << ' ' << window << ' ' << slice;
      }
    }
  }
}

TEST(KvLayout, ABlockCostsWhatTheLayersOfAGroupDo) {
  const ModelConfig model = model_of({true, true, false, true, true, false}, 24);
  const KvLayout layout = KvLayout::for_model(model, 16, KvType::kF16, 8);
  EXPECT_EQ(layout.block_bytes(), 2 * 2 * 16 * 8 * 2);  // layers, keys and values, tokens, elements, bytes
  EXPECT_EQ(KvLayout::for_model(model, 16, KvType::kF32, 8).block_bytes(), 2 * layout.block_bytes());
  for (const KvType type : {KvType::kInt8, KvType::kFp8}) {  // a byte each, and a float per token, keys and values
    EXPECT_EQ(KvLayout::for_model(model, 16, type, 8).block_bytes(), layout.block_bytes() / 2 + 2 * 2 * 16 * 4);
  }
}

}  // namespace
}  // namespace sluice::engine
