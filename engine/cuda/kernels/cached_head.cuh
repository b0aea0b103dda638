#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/cuda/gpu.h"

// Heads of a cache in Fp8 have a scale each, a float per token, kv head, keys or values: what its elements are to be
// multiplied with. Without one, a key above 448 would saturate (biases make such keys in some models) and values below
// a hundredth, which early layers have, would lose most of their few bits. It costs 4 bytes beside head_dim ones.
//
// Scales are powers of two. So an element times its scale is exact, in bf16 as well: attention by matrix products in
// bf16 and attention in float read the same numbers. The price is nothing: a float's relative steps don't depend on
// where in its range it lies.

namespace sluice::engine::cuda {

template <typename Cached>
constexpr bool kHasScales = std::is_same_v<Cached, gpu::Fp8>;

/// The smallest power of two that brings a head whose largest magnitude is `largest` into e4m3's range of up to 448,
/// but no less than 2^-100, so that zeros have one as well and its inverse is finite. Infinite only for an infinity.
GPU_BOTH float head_scale(float largest) {
  constexpr float kLargestFp8 = 448;
  constexpr float kLeast = 0x1p-100F;
  const float exact = largest / kLargestFp8;
  // What the mantissa has beyond the power of two carries into the exponent.
  const uint32_t bits = (__builtin_bit_cast(uint32_t, exact) + 0x007FFFFFU) & 0x7F800000U;
  const float power = __builtin_bit_cast(float, bits);
  return power > kLeast ? power : kLeast;
}

/// Of a token's heads, which its keys and its values are read with.
struct alignas(8) HeadScales {
  float key;
  float value;
};

/// Those at `at`, ones where the type has none.
template <typename Cached>
GPU_DEVICE HeadScales scales_at(const HeadScales* at) {
  if constexpr (kHasScales<Cached>) {
    return *at;
  } else {
    return {1.0F, 1.0F};
  }
}

}  // namespace sluice::engine::cuda
