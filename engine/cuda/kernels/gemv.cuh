#pragma once

#include <cstdint>

#include "engine/cuda/kernels/eight_quants.cuh"
#include "engine/cuda/kernels/group.cuh"
#include "engine/cuda/kernels/sums.cuh"

namespace sluice::engine::cuda {

/// Products of few rows: out[m][n] = sum over k of in[m][k] * weights[n][k] (+ beta * added[m][n]), summed in float in
/// an order that `length` alone decides. In and Out are bf16 or float. The weights must not be the output of a kernel
/// that may still run: they are read before it has ended.
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
  using Held = Bf16Pairs;
  static constexpr int32_t kAhead = 4;  ///< groups of a lane whose loads are under way together
  static constexpr int32_t resident_blocks(int32_t rows) { return rows <= 2 ? 7 : 4; }

  const gpu::Bf16* elements = nullptr;  // [outputs, length]

  GPU_DEVICE bool has_whole_groups(int32_t length) const { return length % kGroup == 0 && is_aligned(elements); }

  /// The group at `at` of a row, without waiting for it. Beyond the row it is one that is there when groups are whole,
  /// so that no branch keeps loads apart, otherwise zeros.
  template <bool kIsWhole>
  GPU_DEVICE Held hold(int32_t output, int32_t at, int32_t length) const {
    const gpu::Bf16* row = elements + int64_t{output} * length;
    if constexpr (kIsWhole) {
      return gpu::as_one<const Held>(row + (at < length ? at : 0));
    } else {
      Held held{};
      for (int32_t i = 0; i < kGroup; ++i) {
        const uint32_t bits = at + i < length ? row[at + i].bits : 0;
        held.pairs[i / 2] |= bits << i % 2 * 16;
      }
      return held;
    }
  }
  GPU_DEVICE static void expand(const Held& held, float (&to)[kGroup]) { expand_pairs(held, to); }
};

/// Blocks of a quantised type as they are stored, so `length` is a multiple of a block's elements.
template <TensorType kType>
struct BlockMatrix {
  using Held = HeldQuants;
  static constexpr int32_t kAhead = 2;  ///< with more, their scales spill
  // Left alone, the compiler makes room for a ninth block of four rows and spills.
  static constexpr int32_t resident_blocks(int32_t rows) { return rows <= 4 ? 8 : 5; }

  const uint8_t* blocks = nullptr;  // [outputs, length / elements of a block]; a multiple of 4

  GPU_DEVICE bool has_whole_groups(int32_t /*length*/) const { return true; }

  template <bool kIsWhole>
  GPU_DEVICE Held hold(int32_t output, int32_t at, int32_t length) const {
    constexpr int32_t kElements = BlockFormat<kType>::kElements;
    if (at >= length) at = 0;
    const int64_t block = int64_t{output} * (length / kElements) + at / kElements;
    return hold_quants(QuantBlock<kType>{blocks + block * BlockFormat<kType>::kBytes}, at % kElements);
  }
  GPU_DEVICE static void expand(const Held& held, float (&to)[kGroup]) { expand_quants<kType>(held, to); }
};

/// A warp's sums of kRows rows with kOutputs outputs; lane i has groups i, i + 32, ... of the rows. Rows and outputs
/// that there aren't repeat the last ones.
template <int32_t kRows, int32_t kOutputs, typename Matrix, typename In, typename Out>
struct GemvTile {
  static constexpr int32_t kStride = gpu::kWarpSize * kGroup;
  static constexpr int32_t kAhead = Matrix::kAhead / kOutputs;  // of an output

  struct Weights {
    typename Matrix::Held held[kAhead][kOutputs];
  };

  const Matrix& matrix;
  const GemvArgs<In, Out>& args;
  int32_t first_output;
  float sums[kRows][kOutputs];

  GPU_DEVICE int32_t row(int32_t m) const { return m < args.rows ? m : args.rows - 1; }
  GPU_DEVICE int32_t output(int32_t n) const {
    return first_output + n < args.outputs ? first_output + n : args.outputs - 1;
  }

  template <bool kIsWhole>
  GPU_DEVICE Weights hold(int32_t at) const {
    Weights weights;
    for (int32_t i = 0; i < kAhead; ++i) {
      for (int32_t n = 0; n < kOutputs; ++n) {
        weights.held[i][n] = matrix.template hold<kIsWhole>(output(n), at + i * kStride, args.length);
      }
    }
    return weights;
  }

  /// Adds the group at `at`.
  template <bool kIsWhole>
  GPU_DEVICE void add(int32_t at, const typename Matrix::Held (&held)[kOutputs]) {
    float weights[kOutputs][kGroup];
    for (int32_t n = 0; n < kOutputs; ++n) Matrix::expand(held[n], weights[n]);
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

  /// The first weights are asked for before the kernel before has ended.
  template <bool kIsWhole>
  GPU_DEVICE void run() {
    int32_t at = gpu::lane() * kGroup;
    Weights weights = hold<kIsWhole>(at);
    gpu::wait_for_previous_kernel();
    gpu::start_next_kernel();
    for (; at < args.length; at += kAhead * kStride) {
      const Weights next = hold<kIsWhole>(at + kAhead * kStride);
      unrolled<kAhead>([&](int32_t i) {
        if (at + i * kStride < args.length) add<kIsWhole>(at + i * kStride, weights.held[i]);
      });
      weights = next;
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

/// Blocks on a multiprocessor at once, which its registers are shared out for.
template <int32_t kRows, typename Matrix>
constexpr int32_t kGemvResidentBlocks = Matrix::resident_blocks(kRows);

/// A warp to kOutputs outputs.
template <int32_t kRows, int32_t kOutputs, typename Matrix, typename In, typename Out>
GPU_KERNEL_RESIDENT(kGemvThreads, (kGemvResidentBlocks<kRows, Matrix>))
void gemv_kernel(Matrix matrix, GemvArgs<In, Out> args) {
  const int32_t warp = block_in_grid() * (kGemvThreads / gpu::kWarpSize) + gpu::warp();
  if (warp * kOutputs >= args.outputs) return;
  GemvTile<kRows, kOutputs, Matrix, In, Out> tile{matrix, args, warp * kOutputs, {}};
  if (matrix.has_whole_groups(args.length) && is_aligned(args.in)) {
    tile.template run<true>();
  } else {
    tile.template run<false>();
  }
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

/// Matrix is Bf16Matrix or a BlockMatrix. Many rows read each of theirs for two outputs at once.
template <typename Matrix, typename In, typename Out>
int32_t launch_gemv(const Matrix& matrix, const GemvArgs<In, Out>& args, void* stream) {
  if (args.rows == 1) return launch_gemv_of<1, 1>(matrix, args, stream);
  if (args.rows == 2) return launch_gemv_of<2, 1>(matrix, args, stream);
  if (args.rows <= 4) return launch_gemv_of<4, 1>(matrix, args, stream);
  return launch_gemv_of<kGemvRowsMax, 2>(matrix, args, stream);
}

}  // namespace sluice::engine::cuda
