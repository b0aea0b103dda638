#pragma once

#include <cstdint>

#include "engine/cuda/kernels/group.cuh"
#include "engine/cuda/kernels/sums.cuh"

// Rows of e4m3 as products take them: elements, and for each row the float that they are multiplied with, which brings
// the row's largest magnitude to e4m3's largest, 448.

namespace sluice::engine::cuda {

/// No less than 2^-100, so that a row of zeros has one as well and its inverse is finite.
GPU_DEVICE float row_scale(float largest) {
  constexpr float kLargestFp8 = 448;
  constexpr float kLeast = 0x1p-100F;
  const float scale = largest / kLargestFp8;
  return scale > kLeast ? scale : kLeast;
}

GPU_DEVICE float larger_magnitude(float largest, float value) {
  const float magnitude = value < 0 ? -value : value;
  return magnitude > largest ? magnitude : largest;
}

/// In is bf16 or float.
template <typename In>
struct QuantizeRowsArgs {
  const In* in = nullptr;   // [rows, width]
  gpu::Fp8* out = nullptr;  // [rows, width]
  float* scales = nullptr;  // [rows]
  int32_t rows = 0;
  int32_t width = 0;
};

constexpr int32_t kQuantizeThreads = 256;

/// A block to a row, which it reads twice: the second time it is in a cache.
template <typename In>
GPU_KERNEL(kQuantizeThreads)
void quantize_rows_kernel(QuantizeRowsArgs<In> args) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const In* row = args.in + int64_t{block_in_grid()} * args.width;
  gpu::Fp8* out = args.out + int64_t{block_in_grid()} * args.width;
  const int32_t stride = threads_in_block() * kGroup;
  float values[kGroup];
  float largest = 0;
  for (int32_t at = thread_number() * kGroup; at < args.width; at += stride) {
    load_group(row + at, args.width - at, values);
    for (const float value : values) largest = larger_magnitude(largest, value);
  }
  const float scale = row_scale(largest_of_block(largest, gpu::shared<WarpLargest>()));
  for (int32_t at = thread_number() * kGroup; at < args.width; at += stride) {
    load_group(row + at, args.width - at, values);
    for (float& value : values) value *= 1.0F / scale;
    store_group(out + at, args.width - at, values);
  }
  if (thread_number() == 0) args.scales[block_in_grid()] = scale;
}

template <typename In>
int32_t launch_quantize_rows(const QuantizeRowsArgs<In>& args, void* stream) {
  return gpu::launch<quantize_rows_kernel<In>>({.grid = {static_cast<uint32_t>(args.rows)},
                                                .block = {threads_for(groups_of(args.width), kQuantizeThreads)},
                                                .shared_bytes = sizeof(WarpLargest),
                                                .stream = stream,
                                                .overlaps_previous = true},
                                               args);
}

}  // namespace sluice::engine::cuda
