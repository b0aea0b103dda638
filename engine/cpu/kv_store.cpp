#include "engine/cpu/kv_store.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace sluice::engine::cpu {

Result<KvStore> KvStore::allocate(const KvLayout& layout, int32_t block_count) {
  SLUICE_CHECK(block_count > 0 && layout.block_size > 0 && layout.head_dim <= kHeadDimMax);
  if (layout.type == KvType::kFp8) return failed_precondition("kv.dtype fp8 can't be had on the CPU; use int8");
  KvStore store;
  store.layout_ = layout;
  store.block_count_ = block_count;
  const auto bytes = static_cast<size_t>(layout.block_bytes()) * static_cast<size_t>(block_count);
  SLUICE_ASSIGN_OR_RETURN(store.blocks_, HugeBuffer::allocate(bytes, "KV cache; lower kv.memory"));
  return store;
}

std::byte* KvStore::head(int32_t layer, int32_t block, int32_t kv_head) {
  SLUICE_CHECK(block >= 0 && block < block_count_);
  const int64_t block_of_layer = int64_t{place_of(layer).index} * block_count_ + block;
  return blocks_.as<std::byte>() + block_of_layer * block_bytes() + kv_head * layout_.head_block_bytes();
}

void KvStore::write(const Kernels& kernels, int32_t layer, int32_t slot, int32_t kv_head, const float* key,
                    const float* value) {
  std::byte* to = head(layer, slot / layout_.block_size, kv_head);
  const int32_t offset = slot % layout_.block_size;
  switch (layout_.type) {
    case KvType::kF32:
      return write_floats(to, offset, key, value);
    case KvType::kF16:
    case KvType::kBf16:
      return write_halves(kernels, to, offset, key, value);
    case KvType::kInt8:
      return write_int8(kernels, to, offset, key, value);
    case KvType::kFp8:
      break;
  }
  SLUICE_CHECK(false && "a type that allocate() refuses");
}

template <typename Element>
void KvStore::scatter_key(const Element* key, int32_t offset, Element* keys) const {
  const int32_t lanes = layout_.block_size % kKeyLanes == 0 ? kKeyLanes : layout_.block_size;
  Element* to = keys + int64_t{offset / lanes} * layout_.head_dim * lanes + offset % lanes;
  for (int32_t d = 0; d < layout_.head_dim; ++d) to[int64_t{d} * lanes] = key[d];
}

void KvStore::write_floats(std::byte* head, int32_t offset, const float* key, const float* value) {
  auto* keys = reinterpret_cast<float*>(head);
  scatter_key(key, offset, keys);
  float* values = keys + int64_t{layout_.head_dim} * layout_.block_size;
  std::copy_n(value, layout_.head_dim, values + int64_t{offset} * layout_.head_dim);
}

void KvStore::write_halves(const Kernels& kernels, std::byte* head, int32_t offset, const float* key,
                           const float* value) {
  const auto store = layout_.type == KvType::kF16 ? kernels.store_f16 : kernels.store_bf16;
  auto* keys = reinterpret_cast<uint16_t*>(head);
  uint16_t* values = keys + int64_t{layout_.head_dim} * layout_.block_size;
  std::array<uint16_t, kHeadDimMax> rounded;
  store(key, layout_.head_dim, rounded.data());
  scatter_key(rounded.data(), offset, keys);
  store(value, layout_.head_dim, values + int64_t{offset} * layout_.head_dim);
}

void KvStore::write_int8(const Kernels& kernels, std::byte* head, int32_t offset, const float* key,
                         const float* value) {
  const int64_t elements = int64_t{layout_.head_dim} * layout_.block_size;
  auto* keys = reinterpret_cast<int8_t*>(head);
  std::array<int8_t, kHeadDimMax> rounded;
  const float key_scale = kernels.store_int8(key, layout_.head_dim, rounded.data());
  scatter_key(rounded.data(), offset, keys);
  const float value_scale =
      kernels.store_int8(value, layout_.head_dim, keys + elements + int64_t{offset} * layout_.head_dim);
  std::byte* scales = head + 2 * elements + int64_t{offset} * static_cast<int64_t>(sizeof(float));
  std::memcpy(scales, &key_scale, sizeof(float));
  std::memcpy(scales + int64_t{layout_.block_size} * static_cast<int64_t>(sizeof(float)), &value_scale, sizeof(float));
}

const AttentionKernels& KvStore::attention(const Kernels& kernels) const {
  switch (layout_.type) {
    case KvType::kF32:
      return kernels.f32;
    case KvType::kF16:
      return kernels.f16;
    case KvType::kBf16:
      return kernels.bf16;
    case KvType::kInt8:
      return kernels.int8;
    case KvType::kFp8:
      break;
  }
  SLUICE_CHECK(false && "a type that allocate() refuses");
}

}  // namespace sluice::engine::cpu
