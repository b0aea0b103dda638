// Every operation of gpu.h, for nvcc to compile: what it refuses here no kernel may use.
#include "engine/cuda/gpu.h"

namespace sluice::gpu {

struct alignas(16) Tile {
  Bf16 elements[32][8];
};

template <typename Number>
GPU_DEVICE Number rounded(float value) {
  return from_float<Number>(to_float(from_float<Number>(value)));
}

GPU_KERNEL(128) void number(const float* from, Bf16* bf16, Half* half, Fp8* fp8, float* floats, uint32_t* packed) {
  const Dim3 block = block_index();
  const Dim3 size = block_size();
  const uint32_t at = thread_index().x + size.x * (block.x + grid_size().x * block.y);
  const float value = from[at];
  bf16[at] = rounded<Bf16>(value);
  half[at] = rounded<Half>(value);
  fp8[at] = rounded<Fp8>(value);
  packed[at] = pack_bf16(value, -value);
  floats[at] = static_cast<float>(rounded_product(static_cast<double>(value), 3.0)) + rounded_product(value, 3.0F);
  floats[at] += rounded<float>(fma(exp2(value), exp(value), log(value)) + tanh(value) * rsqrt(value));
}

template <typename T>
GPU_KERNEL(128)
void meet(T* values, uint32_t* claims, int32_t* warps) {
  T value = values[lane()];
  value += shuffle_xor(value, 16);
  value += shuffle(value, 3);
  value += shuffle_down(value, 1);
  value += shuffle_up(value, 1);
  sync_warp();
  claims[lane()] = static_cast<uint32_t>(count_bits(ballot(value > 0)));
  values[lane()] = value;
  warps[warp()] = 1;
}

GPU_KERNEL(128) void add_up(float* sum, int32_t* count, uint32_t* largest, uint64_t* largest_long) {
  wait_for_previous_kernel();
  start_next_kernel();
  const float before = atomic_add(sum, 1.0F);
  const int32_t count_before = atomic_add(count, static_cast<int32_t>(before));
  const uint32_t largest_before = atomic_max(largest, static_cast<uint32_t>(count_before));
  atomic_max(largest_long, largest_before);
}

template <int32_t kBytes>
GPU_KERNEL(32)
void multiply(const Tile* from, float* sums) {
  Tile& tile = shared<Tile>();
  copy_async(&tile.elements[lane()], &from->elements[lane()], kBytes);
  copy_async_commit();
  copy_async_wait<1>();
  copy_async_wait<0>();
  sync_block();
  uint32_t a[4];
  uint32_t b[4];
  load_matrices(a, tile.elements[lane()]);
  load_matrices_transposed(b, tile.elements[lane()]);
  float sum[4] = {};
  multiply_add(sum, a, {b[0], b[1]});
  for (int32_t i = 0; i < 4; ++i) sums[4 * lane() + i] = sum[i];
}

/// The first error of all launches.
int32_t launch_all(void* stream, float* floats, uint32_t* words, int32_t* counts, uint64_t* longs, void* bytes) {
  const Launch how{.grid = {2, 2}, .block = {128}, .stream = stream, .overlaps_previous = true};
  const Launch large{.grid = {1}, .block = {32}, .shared_bytes = kSharedBytesMax, .stream = stream};
  int32_t error = launch<number>(how, floats, static_cast<Bf16*>(bytes), static_cast<Half*>(bytes),
                                 static_cast<Fp8*>(bytes), floats, words);
  if (error == 0) error = launch<meet<int32_t>>(how, counts, words, counts);
  if (error == 0) error = launch<meet<float>>(how, floats, words, counts);
  if (error == 0) error = launch<meet<double>>(how, static_cast<double*>(bytes), words, counts);
  if (error == 0) error = launch<meet<uint64_t>>(how, longs, words, counts);
  if (error == 0) error = launch<add_up>(how, floats, counts, words, longs);
  if (error == 0) error = launch<multiply<12>>(large, static_cast<const Tile*>(bytes), floats);
  return error;
}

}  // namespace sluice::gpu
