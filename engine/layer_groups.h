#pragma once

#include <cstdint>
#include <vector>

#include "engine/model_config.h"

namespace sluice::engine {

/// Which layers share the blocks of the KV cache.
///
/// A block holds the keys and values of one group of layers for block_size tokens; all groups are equally large, so any
/// block serves any group and one count of blocks says what a sequence costs. Groups of layers that see the whole
/// context have a block for every block_size tokens of it. Groups of layers with a window have a ring of ring_blocks:
/// block number b of the context lies in place b % ring_blocks of it, over what no token can see any more.
///
/// A model whose layers all see the same is one group, and its block holds all layers.
struct LayerGroups {
  struct Place {
    int32_t group = 0;
    int32_t index = 0;  ///< among the layers of a block
  };

  int32_t layers_per_block = 0;
  int32_t full_groups = 0;      ///< groups 0 .. full_groups - 1 see the whole context
  int32_t window_groups = 0;    ///< the groups after them
  int32_t ring_blocks = 0;      ///< of a window group, at most; 0 without such groups
  std::vector<Place> places{};  // [layers]

  int32_t count() const { return full_groups + window_groups; }
  bool has_window(int32_t group) const { return group >= full_groups; }

  /// All layers see the whole context.
  static LayerGroups one_group(int32_t layers);
  /// A row's tokens in one step are at most `slice_max`: their keys are stored before the first of them looks back, so
  /// a ring has room for the window and such a slice.
  static LayerGroups for_model(const ModelConfig& model, int32_t block_size, int32_t slice_max);
};

}  // namespace sluice::engine
