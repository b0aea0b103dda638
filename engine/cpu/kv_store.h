#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "engine/cpu/huge_buffer.h"
#include "engine/cpu/kernels.h"
#include "engine/kv_layout.h"

namespace sluice::engine::cpu {

/// The paged KV cache: [layer of a block][block][kv head], each holding keys, then values [block_size, head_dim], then
/// for int8 the keys' scales [block_size] and the values' [block_size].
///
/// Keys lie with kKeyLanes tokens of a block side by side, so that their scores are one vector sum:
/// [block_size / kKeyLanes][head_dim][kKeyLanes], or [head_dim][block_size] where the block's size is no multiple.
class KvStore {
 public:
  KvStore() = default;
  static Result<KvStore> allocate(const KvLayout& layout, int32_t block_count);

  const KvLayout& layout() const { return layout_; }
  LayerGroups::Place place_of(int32_t layer) const { return layout_.groups.places.at(static_cast<size_t>(layer)); }
  bool has_window(int32_t layer) const { return layout_.groups.has_window(place_of(layer).group); }

  /// One head of a layer in a block.
  std::byte* head(int32_t layer, int32_t block, int32_t kv_head);
  /// From one block of a layer to the next.
  int64_t block_bytes() const { return layout_.kv_head_count * layout_.head_block_bytes(); }

  /// Rounds, where the type is no float, one token's key and value of one head [head_dim] into a slot.
  void write(const Kernels& kernels, int32_t layer, int32_t slot, int32_t kv_head, const float* key,
             const float* value);
  /// The kernels for the cache's element type.
  const AttentionKernels& attention(const Kernels& kernels) const;

 private:
  template <typename Element>
  void scatter_key(const Element* key, int32_t offset, Element* keys) const;
  void write_floats(std::byte* head, int32_t offset, const float* key, const float* value);
  void write_halves(const Kernels& kernels, std::byte* head, int32_t offset, const float* key, const float* value);
  void write_int8(const Kernels& kernels, std::byte* head, int32_t offset, const float* key, const float* value);

  KvLayout layout_;
  int32_t block_count_ = 0;
  HugeBuffer blocks_;
};

}  // namespace sluice::engine::cpu
