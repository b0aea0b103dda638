#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/cuda/kernels/decode_attention.cuh"
#include "engine/cuda/kernels/decode_attention_mma.cuh"
#include "engine/cuda/kernels/prefill_attention.cuh"

/// From arguments to grids, on the host. Each returns what gpu::launch does, of the first launch that failed.
namespace sluice::engine::cuda {

struct RowLaunch {
  int32_t rows;  ///< 1 at least
  void* stream = nullptr;
  bool overlaps_previous = false;
};

/// Whether groups of these have a kernel of matrix products.
template <typename Element, int32_t kHeadDim>
constexpr bool kHasMma = std::is_same_v<Element, gpu::Bf16>&& kHeadDim % 16 == 0;

template <auto kKernel, typename Arguments>
int32_t launch_decode_grid(const Arguments& arguments, RowLaunch how, int32_t splits, int32_t head_sets,
                           int32_t threads, size_t shared_bytes) {
  const gpu::Dim3 grid{static_cast<uint32_t>(splits), static_cast<uint32_t>(head_sets),
                       static_cast<uint32_t>(how.rows)};
  return gpu::launch<kKernel>({.grid = grid,
                               .block = {static_cast<uint32_t>(threads)},
                               .shared_bytes = shared_bytes,
                               .stream = how.stream,
                               .overlaps_previous = how.overlaps_previous},
                              arguments);
}

template <int32_t kHeadDim, int32_t kHeads, typename Query, typename Element, typename Out>
int32_t launch_decode_sets(const DecodeArguments<Query, Element, Out>& arguments, RowLaunch how, int32_t splits) {
  const int32_t group = arguments.shape.head_count / arguments.shape.kv_head_count;
  const int32_t sets = (group + kHeads - 1) / kHeads * arguments.shape.kv_head_count;
  return launch_decode_grid<decode_attention<kHeadDim, kHeads, Query, Element, Out>>(
      arguments, how, splits, sets, kDecodeThreads, sizeof(DecodeShared<Element, kHeadDim, kHeads>));
}

template <int32_t kHeadDim, typename Query, typename Element, typename Out>
int32_t launch_decode_parts(const DecodeArguments<Query, Element, Out>& arguments, RowLaunch how, int32_t splits) {
  const int32_t group = arguments.shape.head_count / arguments.shape.kv_head_count;
  if constexpr (kHasMma<Element, kHeadDim>) {
    if (group >= 4 && group <= kGroupRows)
      return launch_decode_grid<decode_attention_mma<kHeadDim, Query, Element, Out>>(
          arguments, how, splits, arguments.shape.kv_head_count, GroupGeometry<kHeadDim>::kThreads,
          sizeof(GroupShared<kHeadDim>));
  } else if (group == 4) {
    return launch_decode_sets<kHeadDim, 4>(arguments, how, splits);
  }
  switch (group) {
    case 1:
      return launch_decode_sets<kHeadDim, 1>(arguments, how, splits);
    case 2:
      return launch_decode_sets<kHeadDim, 2>(arguments, how, splits);
    case 3:
      return launch_decode_sets<kHeadDim, 3>(arguments, how, splits);
    default:
      return launch_decode_sets<kHeadDim, 8>(arguments, how, splits);
  }
}

/// Rows of a token or a few. `splits` from plan_splits; the workspace holds as many parts of each token.
template <int32_t kHeadDim, typename Query, typename Element, typename Out>
int32_t launch_decode_attention(const DecodeArguments<Query, Element, Out>& arguments, RowLaunch how, int32_t splits) {
  const int32_t failure = launch_decode_parts<kHeadDim>(arguments, how, splits);
  if (failure != 0 || splits == 1) return failure;
  const gpu::Dim3 grid{static_cast<uint32_t>(arguments.shape.head_count), static_cast<uint32_t>(how.rows)};
  return gpu::launch<merge_splits<kHeadDim, Query, Element, Out>>(
      {.grid = grid, .block = {kMergeThreads}, .stream = how.stream, .overlaps_previous = how.overlaps_previous},
      arguments, splits);
}

/// Rows of any length up to row_tokens_longest.
template <int32_t kHeadDim, typename Element, typename Out>
int32_t launch_prefill_attention(const PrefillArguments<Element, Out>& arguments, RowLaunch how,
                                 int32_t row_tokens_longest) {
  const gpu::Dim3 grid{static_cast<uint32_t>(prefill_tiles(row_tokens_longest)),
                       static_cast<uint32_t>(arguments.shape.head_count), static_cast<uint32_t>(how.rows)};
  return gpu::launch<prefill_attention<kHeadDim, Element, Out>>({.grid = grid,
                                                                 .block = {kPrefillThreads},
                                                                 .shared_bytes = sizeof(PrefillShared<kHeadDim>),
                                                                 .stream = how.stream,
                                                                 .overlaps_previous = how.overlaps_previous},
                                                                arguments);
}

}  // namespace sluice::engine::cuda
