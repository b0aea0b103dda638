#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/group.cuh"

namespace sluice::engine::cuda {

constexpr int32_t kRowsThreads = 256;

inline gpu::Launch row_by_block(int32_t row_count, void* stream) {
  return {
      .grid = {static_cast<uint32_t>(row_count)}, .block = {kRowsThreads}, .stream = stream, .overlaps_previous = true};
}

/// to[i] = from[rows[i]], rows of `width` floats. A block copies a row.
GPU_KERNEL(kRowsThreads)
void gather_rows_kernel(float* to, const float* from, const int32_t* rows, int32_t width) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const auto block = static_cast<int64_t>(gpu::block_index().x);
  const float* row = from + int64_t{rows[block]} * width;
  for (auto i = static_cast<int32_t>(gpu::thread_index().x); i < width; i += kRowsThreads)
    to[block * width + i] = row[i];
}

inline int32_t launch_gather_rows(float* to, const float* from, const int32_t* rows, int32_t row_count, int32_t width,
                                  void* stream) {
  return gpu::launch<gather_rows_kernel>(row_by_block(row_count, stream), to, from, rows, width);
}

/// Each of the rows = row, of `width` floats.
GPU_KERNEL(kRowsThreads)
void fill_rows_kernel(float* to, const float* row, int32_t width) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const auto block = static_cast<int64_t>(gpu::block_index().x);
  for (auto i = static_cast<int32_t>(gpu::thread_index().x); i < width; i += kRowsThreads)
    to[block * width + i] = row[i];
}

inline int32_t launch_fill_rows(float* to, const float* row, int32_t row_count, int32_t width, void* stream) {
  return gpu::launch<fill_rows_kernel>(row_by_block(row_count, stream), to, row, width);
}

/// to[i] = from[i] in another type, eight of them a thread.
template <typename To, typename From>
GPU_KERNEL(kRowsThreads)
void convert_kernel(To* to, const From* from, int64_t count) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const int64_t at = (int64_t{gpu::block_index().x} * kRowsThreads + gpu::thread_index().x) * kGroup;
  if (at >= count) return;
  const auto left = static_cast<int32_t>(count - at < kGroup ? count - at : kGroup);
  float values[kGroup];
  load_group(from + at, left, values);
  store_group(to + at, left, values);
}

template <typename To, typename From>
int32_t launch_convert(To* to, const From* from, int64_t count, void* stream) {
  const auto blocks = static_cast<uint32_t>(divide_up(count, int64_t{kRowsThreads} * kGroup));
  return gpu::launch<convert_kernel<To, From>>(
      {.grid = {blocks}, .block = {kRowsThreads}, .stream = stream, .overlaps_previous = true}, to, from, count);
}

}  // namespace sluice::engine::cuda
