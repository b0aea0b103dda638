#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/cuda/kernels/group.cuh"
#include "engine/cuda/kernels/norm_weight.cuh"
#include "engine/cuda/kernels/quantize_rows.cuh"
#include "engine/cuda/kernels/sums.cuh"

namespace sluice::engine::cuda {

/// out[t] = rms_norm(in[t]). In and Out are bf16 or float, Out also Fp8 with a scale for each row.
template <typename In, typename Out>
struct RmsNormArgs {
  const In* in = nullptr;  // [tokens, width]
  NormWeight norm{};
  Out* out = nullptr;       // [tokens, width]
  float* scales = nullptr;  // [tokens] of Fp8 (quantize_rows.cuh), else none
  int32_t tokens = 0;
  int32_t width = 0;  ///< at most kNormWidthMax
};

/// residual[t] += added[t], or rms_norm(added[t]) where there is an added_norm; then out[t] = rms_norm(residual[t])
/// where there is an out.
template <typename In, typename Out>
struct AddRmsNormArgs {
  float* residual = nullptr;  // [tokens, width]
  const In* added = nullptr;  // [tokens, width]
  NormWeight added_norm{};    ///< none when its weight is null
  NormWeight norm{};
  Out* out = nullptr;  // [tokens, width]
  int32_t tokens = 0;
  int32_t width = 0;  ///< at most kNormWidthMax
};

constexpr int32_t kNormThreads = 512;
constexpr int32_t kNormGroupsMax = 4;  ///< that a thread holds
constexpr int32_t kNormWidthMax = kNormThreads * kNormGroupsMax * kGroup;

/// A row of a token, spread over the registers of a block: thread i has groups i, i + threads, ...
template <int32_t kGroups>
struct HeldRow {
  float values[kGroups][kGroup];

  GPU_DEVICE static int32_t place(int32_t group) { return (group * threads_in_block() + thread_number()) * kGroup; }

  template <typename T>
  GPU_DEVICE void load(const T* row, int32_t width) {
    for (int32_t g = 0; g < kGroups; ++g) load_group(row + place(g), width - place(g), values[g]);
  }
  template <typename T>
  GPU_DEVICE void store(T* row, int32_t width) const {
    for (int32_t g = 0; g < kGroups; ++g) store_group(row + place(g), width - place(g), values[g]);
  }

  GPU_DEVICE void add(const HeldRow& other) {
    for (int32_t g = 0; g < kGroups; ++g) {
      for (int32_t i = 0; i < kGroup; ++i) values[g][i] += other.values[g][i];
    }
  }

  /// Brings the row into e4m3's range and returns its scale; the block calls together.
  GPU_DEVICE float scale_to_fp8(WarpLargest& warps) {
    float largest = 0;
    for (const auto& group : values) {
      for (const float value : group) largest = larger_magnitude(largest, value);
    }
    const float scale = row_scale(largest_of_block(largest, warps));
    for (auto& group : values) {
      for (float& value : group) value *= 1.0F / scale;
    }
    return scale;
  }

  /// The block calls together, each time with other sums.
  GPU_DEVICE void normalize(const NormWeight& norm, int32_t width, WarpSums& sums) {
    float squares = 0;
    for (const auto& group : values) {
      for (const float value : group) squares = gpu::fma(value, value, squares);
    }
    const float mean = sum_of_block(squares, sums) / static_cast<float>(width);
    const float factor = gpu::rsqrt(mean + norm.epsilon);
    for (int32_t g = 0; g < kGroups; ++g) {
      float weights[kGroup];
      load_group(norm.weight + place(g), width - place(g), weights);
      for (int32_t i = 0; i < kGroup; ++i) values[g][i] *= factor * weights[i];
    }
  }
};

struct NormShared {
  WarpSums squares;
  WarpLargest largest;
};

template <int32_t kGroups, typename In, typename Out>
GPU_KERNEL(kNormThreads)
void rms_norm_kernel(RmsNormArgs<In, Out> args) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const int64_t row = int64_t{block_in_grid()} * args.width;
  HeldRow<kGroups> held;
  held.load(args.in + row, args.width);
  auto& shared = gpu::shared<NormShared>();
  held.normalize(args.norm, args.width, shared.squares);
  if constexpr (std::is_same_v<Out, gpu::Fp8>) {
    const float scale = held.scale_to_fp8(shared.largest);
    if (thread_number() == 0) args.scales[block_in_grid()] = scale;
  }
  held.store(args.out + row, args.width);
}

struct AddNormSums {
  WarpSums added;
  WarpSums residual;
};

template <int32_t kGroups, typename In, typename Out>
GPU_KERNEL(kNormThreads)
void add_rms_norm_kernel(AddRmsNormArgs<In, Out> args) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  auto& sums = gpu::shared<AddNormSums>();
  const int64_t row = int64_t{block_in_grid()} * args.width;
  HeldRow<kGroups> added;
  HeldRow<kGroups> residual;
  added.load(args.added + row, args.width);
  residual.load(args.residual + row, args.width);
  if (args.added_norm.weight != nullptr) added.normalize(args.added_norm, args.width, sums.added);
  residual.add(added);
  residual.store(args.residual + row, args.width);
  if (args.out == nullptr) return;
  residual.normalize(args.norm, args.width, sums.residual);
  residual.store(args.out + row, args.width);
}

/// A block to a token, with registers for a row.
inline gpu::Launch norm_launch(int32_t tokens, int32_t width, size_t shared_bytes, void* stream) {
  return {.grid = {static_cast<uint32_t>(tokens)},
          .block = {threads_for(groups_of(width), kNormThreads)},
          .shared_bytes = shared_bytes,
          .stream = stream,
          .overlaps_previous = true};
}

template <typename In, typename Out>
int32_t launch_rms_norm(const RmsNormArgs<In, Out>& args, void* stream) {
  const gpu::Launch how = norm_launch(args.tokens, args.width, sizeof(NormShared), stream);
  if (args.width <= kNormThreads * kGroup) return gpu::launch<rms_norm_kernel<1, In, Out>>(how, args);
  if (args.width <= 2 * kNormThreads * kGroup) return gpu::launch<rms_norm_kernel<2, In, Out>>(how, args);
  return gpu::launch<rms_norm_kernel<kNormGroupsMax, In, Out>>(how, args);
}

template <typename In, typename Out>
int32_t launch_add_rms_norm(const AddRmsNormArgs<In, Out>& args, void* stream) {
  const gpu::Launch how = norm_launch(args.tokens, args.width, sizeof(AddNormSums), stream);
  if (args.width <= kNormThreads * kGroup) return gpu::launch<add_rms_norm_kernel<1, In, Out>>(how, args);
  if (args.width <= 2 * kNormThreads * kGroup) return gpu::launch<add_rms_norm_kernel<2, In, Out>>(how, args);
  return gpu::launch<add_rms_norm_kernel<kNormGroupsMax, In, Out>>(how, args);
}

}  // namespace sluice::engine::cuda
