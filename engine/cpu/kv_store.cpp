#include "engine/cpu/kv_store.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace sluice::engine::cpu {

Result<KvStore> KvStore::allocate(const KvLayout& layout, int32_t block_count) {
  SLUICE_CHECK(block_count > 0 && layout.block_size > 0);
  KvStore store;
  store.layout_ = layout;
  store.block_count_ = block_count;
  const auto bytes = static_cast<size_t>(layout.block_bytes()) * static_cast<size_t>(block_count);
  SLUICE_ASSIGN_OR_RETURN(store.elements_, HugeBuffer::allocate(bytes, "KV cache; lower kv.memory"));
  return store;
}

uint16_t* KvStore::head(int32_t layer, int32_t block, int32_t kv_head) {
  SLUICE_CHECK(layer < layout_.layer_count && block >= 0 && block < block_count_);
  const int64_t block_of_layer = int64_t{layer} * block_count_ + block;
  return elements_.as<uint16_t>() + block_of_layer * block_stride() + kv_head * head_elements();
}

void KvStore::write(const Kernels& kernels, int32_t layer, int32_t slot, int32_t kv_head, const float* key,
                    const float* value) {
  constexpr int32_t kPiece = 64;
  const auto store = layout_.type == KvType::kF16 ? kernels.store_f16 : kernels.store_bf16;
  const int32_t offset = slot % layout_.block_size;
  uint16_t* keys = head(layer, slot / layout_.block_size, kv_head);
  uint16_t* values = keys + int64_t{layout_.head_dim} * layout_.block_size;
  for (int32_t begin = 0; begin < layout_.head_dim; begin += kPiece) {
    const int32_t count = std::min(kPiece, layout_.head_dim - begin);
    std::array<uint16_t, kPiece> piece;
    store(key + begin, count, piece.data());
    for (int32_t d = 0; d < count; ++d) {
      keys[int64_t{begin + d} * layout_.block_size + offset] = piece[static_cast<size_t>(d)];
    }
  }
  store(value, layout_.head_dim, values + int64_t{offset} * layout_.head_dim);
}

void KvStore::attend(const Kernels& kernels, const AttendTask& task) const {
  if (layout_.type == KvType::kF16) {
    kernels.attend_f16(task);
  } else {
    kernels.attend_bf16(task);
  }
}

}  // namespace sluice::engine::cpu
