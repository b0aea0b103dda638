#pragma once

#include <cstdint>

#include "engine/cuda/kernels/group.cuh"
#include "engine/random_recipe.h"

// Rows of random weights by a RandomRecipe, on the device.

namespace sluice::engine::cuda {

constexpr int32_t kRandomThreads = 256;

/// As in base/counter_random.h, which device code can't call.
GPU_DEVICE uint64_t mixed_bits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
GPU_DEVICE uint64_t counted_bits(uint64_t seed, uint64_t counter) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  return mixed_bits(mixed_bits(seed + kGolden) + (counter + 1) * kGolden);
}

/// Where in the maker's rows the first of `count` units lies; a unit is an element of a float type, or a byte.
struct RandomRange {
  uint64_t seed = 0;
  uint64_t row_words = 0;
  int64_t row_units = 0;
  int64_t first = 0;
  int64_t count = 0;
};

/// A unit of the range, by its row.
struct RandomUnit {
  uint64_t row_counter;  ///< of the row's first word
  int64_t place;         ///< in the row
};

GPU_DEVICE int64_t unit_number() {
  return int64_t{block_in_grid()} * kRandomThreads + thread_number();
}
GPU_DEVICE RandomUnit find_unit(const RandomRange& range, int64_t number) {
  const int64_t at = range.first + number;
  const int64_t row = at / range.row_units;
  return {static_cast<uint64_t>(row) * range.row_words, at - row * range.row_units};
}

/// `Bits` are as wide as an element.
template <typename Bits>
GPU_KERNEL(kRandomThreads)
void random_elements_kernel(RandomRange range, const Bits* elements, Bits* out) {
  const int64_t number = unit_number();
  if (number >= range.count) return;
  const RandomUnit unit = find_unit(range, number);
  const uint64_t word =
      counted_bits(range.seed, unit.row_counter + static_cast<uint64_t>(unit.place / RandomRecipe::kDrawsPerWord));
  const auto quarter = static_cast<uint32_t>(unit.place % RandomRecipe::kDrawsPerWord);
  out[number] = elements[word >> 16 * quarter & (RandomRecipe::kElements - 1)];
}

GPU_DEVICE uint32_t random_byte(const RandomRange& range, uint64_t row_counter, int64_t place) {
  const uint64_t word = counted_bits(range.seed, row_counter + static_cast<uint64_t>(place / RandomRecipe::kWordBytes));
  return static_cast<uint32_t>(word >> place % RandomRecipe::kWordBytes * 8) & 0xffU;
}

/// Byte `at` of a half.
GPU_DEVICE uint8_t byte_of(uint32_t half, int32_t at) {
  return static_cast<uint8_t>(half >> 8 * at);
}

/// A thread to a byte.
GPU_KERNEL(kRandomThreads)
void random_blocks_kernel(RandomRange range, BlockStamp stamp, int32_t block_bytes, uint8_t* out) {
  const int64_t number = unit_number();
  if (number >= range.count) return;
  const RandomUnit unit = find_unit(range, number);
  const auto at = static_cast<int32_t>(unit.place % block_bytes);
  if (stamp.exponent >= 0 && at == 0) {
    out[number] = static_cast<uint8_t>(stamp.exponent);
    return;
  }
  const bool is_d = stamp.d_place >= 0 && at / 2 * 2 == stamp.d_place;
  const bool is_m = stamp.m_place >= 0 && at / 2 * 2 == stamp.m_place;
  if (!is_d && !is_m) {
    out[number] = static_cast<uint8_t>(random_byte(range, unit.row_counter, unit.place));
    return;
  }
  const uint32_t sign = (random_byte(range, unit.row_counter, unit.place - at + stamp.d_place + 1) & 0x80U) << 8;
  out[number] = byte_of((is_d ? stamp.d : stamp.m) ^ sign, at % 2);
}

inline gpu::Launch launch_of_units(const RandomRange& range, void* stream) {
  const auto blocks = static_cast<uint32_t>(divide_up(range.count, int64_t{kRandomThreads}));
  return {.grid = {blocks}, .block = {kRandomThreads}, .stream = stream};
}

/// out [count] = elements of the range.
template <typename Bits>
int32_t launch_random_elements(const RandomRange& range, const Bits* elements, Bits* out, void* stream) {
  return gpu::launch<random_elements_kernel<Bits>>(launch_of_units(range, stream), range, elements, out);
}

/// out [count] = bytes of the range.
inline int32_t launch_random_blocks(const RandomRange& range, const BlockStamp& stamp, int32_t block_bytes,
                                    uint8_t* out, void* stream) {
  return gpu::launch<random_blocks_kernel>(launch_of_units(range, stream), range, stamp, block_bytes, out);
}

}  // namespace sluice::engine::cuda
