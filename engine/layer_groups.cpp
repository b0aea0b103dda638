#include "engine/layer_groups.h"

#include <numeric>

#include "base/check.h"

namespace sluice::engine {

LayerGroups LayerGroups::one_group(int32_t layers) {
  LayerGroups groups{.layers_per_block = layers, .full_groups = 1};
  for (int32_t layer = 0; layer < layers; ++layer) groups.places.push_back({0, layer});
  return groups;
}

LayerGroups LayerGroups::for_model(const ModelConfig& model, int32_t block_size, int32_t slice_max) {
  SLUICE_CHECK(block_size > 0 && slice_max > 0);
  int32_t windowed = 0;
  for (int32_t layer = 0; layer < model.layer_count; ++layer) windowed += model.has_window(layer) ? 1 : 0;
  const int32_t full = model.layer_count - windowed;
  LayerGroups groups;
  groups.layers_per_block = std::gcd(full, windowed);  // that of 0 and n is n
  groups.full_groups = full / groups.layers_per_block;
  groups.window_groups = windowed / groups.layers_per_block;
  if (windowed > 0) {
    // The oldest token that the first of a slice sees may be the last one of its block.
    const int64_t tokens = int64_t{model.window} - 1 + slice_max;
    groups.ring_blocks = static_cast<int32_t>((tokens + block_size - 2) / block_size + 1);
  }
  int32_t next_full = 0;
  int32_t next_windowed = groups.full_groups * groups.layers_per_block;
  for (int32_t layer = 0; layer < model.layer_count; ++layer) {
    const int32_t place = model.has_window(layer) ? next_windowed++ : next_full++;
    groups.places.push_back({place / groups.layers_per_block, place % groups.layers_per_block});
  }
  return groups;
}

}  // namespace sluice::engine
