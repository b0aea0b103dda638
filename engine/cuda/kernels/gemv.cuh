#pragma once

#include <cstdint>

#include "engine/cuda/kernels/eight_quants.cuh"
#include "engine/cuda/kernels/group.cuh"
#include "engine/cuda/kernels/sums.cuh"

namespace sluice::engine::cuda {

/// Products of few rows: out[m][n] = sum over k of in[m][k] * weights[n][k] (+ beta * added[m][n]), summed in float in
/// an order that `length` alone decides. In and Out are bf16 or float.
template <typename In, typename Out>
struct GemvArgs {
  const In* in = nullptr;      // [rows, length]
  const Out* added = nullptr;  // [rows, outputs]; none when null; may be out
  Out* out = nullptr;          // [rows, outputs]
  int32_t rows = 0;            ///< 1 to kGemvRowsMax
  int32_t outputs = 0;
  int32_t length = 0;
  float beta = 1;
};

constexpr int32_t kGemvRowsMax = 8;
constexpr int32_t kGemvThreads = 128;

struct Bf16Matrix {
  const gpu::Bf16* elements = nullptr;  // [outputs, length]

  GPU_DEVICE bool is_aligned_for(int32_t length) const { return length % kGroup == 0 && is_aligned(elements); }

  /// What load() needs no more than the group's address for.
  GPU_DEVICE void load_whole(int32_t output, int32_t at, int32_t length, float (&to)[kGroup]) const {
    load_aligned(elements + int64_t{output} * length + at, to);
  }
  GPU_DEVICE void load(int32_t output, int32_t at, int32_t length, float (&to)[kGroup]) const {
    load_group(elements + int64_t{output} * length + at, length - at, to);
  }
};

/// Blocks of a quantised type as they are stored, so `length` is a multiple of a block's elements.
template <TensorType kType>
struct BlockMatrix {
  const uint8_t* blocks = nullptr;  // [outputs, length / elements of a block]; a multiple of 4

  GPU_DEVICE bool is_aligned_for(int32_t /*length*/) const { return true; }

  GPU_DEVICE void load_whole(int32_t output, int32_t at, int32_t length, float (&to)[kGroup]) const {
    constexpr int32_t kElements = block_elements_of(kType);
    constexpr int32_t kBytes = block_bytes_of(kType);
    const int64_t block = int64_t{output} * (length / kElements) + at / kElements;
    decode_group(QuantBlock<kType>{blocks + block * kBytes}, at % kElements, to);
  }
  GPU_DEVICE void load(int32_t output, int32_t at, int32_t length, float (&to)[kGroup]) const {
    load_whole(output, at, length, to);
  }
};

/// A warp's sums of kRows rows with kOutputs outputs. Rows and outputs that there aren't repeat the last ones.
template <int32_t kRows, int32_t kOutputs, typename Matrix, typename In, typename Out>
struct GemvTile {
  const Matrix& matrix;
  const GemvArgs<In, Out>& args;
  int32_t first_output;
  float sums[kRows][kOutputs];

  GPU_DEVICE int32_t row(int32_t m) const { return m < args.rows ? m : args.rows - 1; }
  GPU_DEVICE int32_t output(int32_t n) const {
    return first_output + n < args.outputs ? first_output + n : args.outputs - 1;
  }

  /// Adds the group at `at`.
  template <bool kIsWhole>
  GPU_DEVICE void add(int32_t at) {
    float weights[kOutputs][kGroup];
    for (int32_t n = 0; n < kOutputs; ++n) {
      if constexpr (kIsWhole) {
        matrix.load_whole(output(n), at, args.length, weights[n]);
      } else {
        matrix.load(output(n), at, args.length, weights[n]);
      }
    }
    for (int32_t m = 0; m < kRows; ++m) {
      const In* from = args.in + int64_t{row(m)} * args.length + at;
      float values[kGroup];
      if constexpr (kIsWhole) {
        load_aligned(from, values);
      } else {
        load_group(from, args.length - at, values);
      }
      for (int32_t n = 0; n < kOutputs; ++n) {
        for (int32_t i = 0; i < kGroup; ++i) sums[m][n] = gpu::fma(values[i], weights[n][i], sums[m][n]);
      }
    }
  }

  GPU_DEVICE void store(int32_t m, int32_t n) const {
    const float sum = sum_of_lanes(sums[m][n]);
    if (gpu::lane() != 0 || m >= args.rows || first_output + n >= args.outputs) return;
    const int64_t at = int64_t{m} * args.outputs + first_output + n;
    const float added = args.added == nullptr ? 0.0F : gpu::to_float(args.added[at]);
    args.out[at] = gpu::from_float<Out>(args.added == nullptr ? sum : gpu::fma(args.beta, added, sum));
  }
};

/// A warp to kOutputs outputs; lane i has groups i, i + 32, ... of the rows.
template <int32_t kRows, int32_t kOutputs, typename Matrix, typename In, typename Out>
GPU_KERNEL(kGemvThreads)
void gemv_kernel(Matrix matrix, GemvArgs<In, Out> args) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  constexpr int32_t kStride = gpu::kWarpSize * kGroup;
  constexpr int32_t kAhead = 4;  // groups whose loads are under way together
  const int32_t warp = block_in_grid() * (kGemvThreads / gpu::kWarpSize) + gpu::warp();
  if (warp * kOutputs >= args.outputs) return;
  GemvTile<kRows, kOutputs, Matrix, In, Out> tile{matrix, args, warp * kOutputs, {}};
  int32_t at = gpu::lane() * kGroup;
  if (matrix.is_aligned_for(args.length) && is_aligned(args.in)) {
    for (; at + (kAhead - 1) * kStride < args.length; at += kAhead * kStride) {
      for (int32_t i = 0; i < kAhead; ++i) tile.template add<true>(at + i * kStride);
    }
    for (; at < args.length; at += kStride) tile.template add<true>(at);
  }
  for (; at < args.length; at += kStride) tile.template add<false>(at);
  for (int32_t m = 0; m < kRows; ++m) {
    for (int32_t n = 0; n < kOutputs; ++n) tile.store(m, n);
  }
}

template <int32_t kRows, int32_t kOutputs, typename Matrix, typename In, typename Out>
int32_t launch_gemv_of(const Matrix& matrix, const GemvArgs<In, Out>& args, void* stream) {
  constexpr int32_t kOutputsPerBlock = kGemvThreads / gpu::kWarpSize * kOutputs;
  return gpu::launch<gemv_kernel<kRows, kOutputs, Matrix, In, Out>>(
      {.grid = {static_cast<uint32_t>(divide_up(args.outputs, kOutputsPerBlock))},
       .block = {kGemvThreads},
       .stream = stream,
       .overlaps_previous = true},
      matrix, args);
}

/// Matrix is Bf16Matrix or a BlockMatrix. More rows read each of theirs for two outputs at once.
template <typename Matrix, typename In, typename Out>
int32_t launch_gemv(const Matrix& matrix, const GemvArgs<In, Out>& args, void* stream) {
  if (args.rows == 1) return launch_gemv_of<1, 1>(matrix, args, stream);
  if (args.rows == 2) return launch_gemv_of<2, 1>(matrix, args, stream);
  if (args.rows <= 4) return launch_gemv_of<4, 2>(matrix, args, stream);
  return launch_gemv_of<kGemvRowsMax, 2>(matrix, args, stream);
}

}  // namespace sluice::engine::cuda
