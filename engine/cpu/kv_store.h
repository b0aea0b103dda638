#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/cpu/huge_buffer.h"
#include "engine/cpu/kernels.h"
#include "engine/kv_layout.h"

namespace sluice::engine::cpu {

/// The paged KV cache: [layer][block][kv head], each holding keys [head_dim, block_size] and then values [block_size,
/// head_dim] in 2-byte floats. Keys lie with the tokens of a block side by side, so that scores of several tokens are
/// one vector sum.
class KvStore {
 public:
  KvStore() = default;
  static Result<KvStore> allocate(const KvLayout& layout, int32_t block_count);

  const KvLayout& layout() const { return layout_; }

  /// Keys of one head in a block, followed by its values.
  uint16_t* head(int32_t layer, int32_t block, int32_t kv_head);
  /// Elements from one block of a layer to the next.
  int64_t block_stride() const { return layout_.kv_head_count * head_elements(); }

  /// Rounds one token's key and value of one head [head_dim] into a slot.
  void write(const Kernels& kernels, int32_t layer, int32_t slot, int32_t kv_head, const float* key,
             const float* value);
  /// Attends with the kernel for the cache's element type.
  void attend(const Kernels& kernels, const AttendTask& task) const;

 private:
  int64_t head_elements() const { return int64_t{2} * layout_.head_dim * layout_.block_size; }

  KvLayout layout_;
  int32_t block_count_ = 0;
  HugeBuffer elements_;
};

}  // namespace sluice::engine::cpu
