#pragma once

#include <cstdint>

#include "engine/cuda/kernels/split_plan.cuh"

/// What the parts of a softmax over keys are and how they come together: sum = sum of w v, mass = sum of w, with
/// w = 2^(score - top). Parts with other tops join after their weights 2^(top - the largest top).
namespace sluice::engine::cuda {

template <typename Query, typename Element, typename Out>
struct DecodeArguments {
  Queries<Query> queries;
  PagedCache<Element> cache;
  AttentionRows rows;
  AttentionShape shape;
  SplitLimits limits;
  Out* out;          // [tokens][heads][head_dim]
  float* workspace;  // [tokens][splits][heads][head_dim + 2]: sum, top, mass; not touched with one split
};

inline int64_t workspace_floats(int32_t tokens, int32_t splits, int32_t head_count, int32_t head_dim) {
  return splits > 1 ? int64_t{tokens} * splits * head_count * (head_dim + 2) : 0;
}

/// A token's part in the workspace.
template <int32_t kHeadDim>
GPU_DEVICE float* workspace_of(float* workspace, int32_t token, int32_t split, int32_t splits, int32_t head,
                               int32_t head_count) {
  const int64_t part = (static_cast<int64_t>(token) * splits + split) * head_count + head;
  return workspace + part * (kHeadDim + 2);
}

/// The parts of a block's warps, in shared memory.
template <int32_t kWarps, int32_t kHeads, int32_t kHeadDim>
struct BlockPartials {
  float sum[kWarps][kHeads][kHeadDim + 8];  // heads begin in different banks
  float top[kWarps][kHeads];
  float mass[kWarps][kHeads];
};

/// Where a block's result goes: heads [head, head + heads) of one token, part `split` of `parts`.
struct PartialTarget {
  int32_t token;
  int32_t head;
  int32_t heads;
  int32_t split;
  int32_t parts;
};

/// Joins the warps' parts. The only part of a token is its result; others go to the workspace. After a barrier.
template <int32_t kWarps, int32_t kHeads, int32_t kHeadDim, typename Query, typename Element, typename Out>
GPU_DEVICE void write_block_partials(const BlockPartials<kWarps, kHeads, kHeadDim>& partials,
                                     const DecodeArguments<Query, Element, Out>& arguments, PartialTarget target) {
  const int32_t splits = static_cast<int32_t>(gpu::grid_size().x);
  const int32_t head_count = arguments.shape.head_count;
  for (int32_t i = thread_number(); i < target.heads * kHeadDim; i += kWarps * gpu::kWarpSize) {
    const int32_t head = i / kHeadDim;
    const int32_t dim = i % kHeadDim;
    float top = kNoScore;
    for (int32_t w = 0; w < kWarps; ++w) top = partials.top[w][head] > top ? partials.top[w][head] : top;
    float sum = 0.0F;
    float mass = 0.0F;
    for (int32_t w = 0; w < kWarps; ++w) {
      const float weight = weight_of(partials.top[w][head], top);
      sum = gpu::fma(weight, partials.sum[w][head][dim], sum);
      mass = gpu::fma(weight, partials.mass[w][head], mass);
    }
    if (target.parts == 1) {
      const int64_t row = static_cast<int64_t>(target.token) * head_count + target.head + head;
      arguments.out[row * kHeadDim + dim] = gpu::from_float<Out>(sum / mass);
      continue;
    }
    float* to =
        workspace_of<kHeadDim>(arguments.workspace, target.token, target.split, splits, target.head + head, head_count);
    to[dim] = sum;
    if (dim == 0) to[kHeadDim] = top;
    if (dim == 0) to[kHeadDim + 1] = mass;
  }
}

template <int32_t kHeadDim, typename Out>
GPU_DEVICE void merge_token(const float* first_part, int64_t part_stride, int32_t parts, Out* out) {
  float top = kNoScore;
  for (int32_t p = 0; p < parts; ++p) {
    const float other = first_part[p * part_stride + kHeadDim];
    top = other > top ? other : top;
  }
  for (int32_t dim = thread_number(); dim < kHeadDim; dim += static_cast<int32_t>(gpu::block_size().x)) {
    float sum = 0.0F;
    float mass = 0.0F;
    for (int32_t p = 0; p < parts; ++p) {
      const float* part = first_part + p * part_stride;
      const float weight = weight_of(part[kHeadDim], top);
      sum = gpu::fma(weight, part[dim], sum);
      mass = gpu::fma(weight, part[kHeadDim + 1], mass);
    }
    out[dim] = gpu::from_float<Out>(sum / mass);
  }
}

constexpr int32_t kMergeThreads = 128;

/// Grid (heads, rows), after a decode kernel whose grid had `splits`: joins the parts of tokens that have several.
template <int32_t kHeadDim, typename Query, typename Element, typename Out>
GPU_KERNEL(kMergeThreads)
void merge_splits(DecodeArguments<Query, Element, Out> arguments, int32_t splits) {
  const int32_t head = static_cast<int32_t>(gpu::block_index().x);
  const int32_t row = static_cast<int32_t>(gpu::block_index().y);
  const int32_t head_count = arguments.shape.head_count;
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  for (int32_t token = arguments.rows.row_begin[row]; token < arguments.rows.row_begin[row + 1]; ++token) {
    const KeyRange seen = visible_keys(arguments.rows.positions[token], arguments.shape.window);
    const int32_t parts = split_count(seen, arguments.limits);
    if (parts == 1) continue;
    const float* first = workspace_of<kHeadDim>(arguments.workspace, token, 0, splits, head, head_count);
    Out* out = arguments.out + (static_cast<int64_t>(token) * head_count + head) * kHeadDim;
    merge_token<kHeadDim>(first, static_cast<int64_t>(head_count) * (kHeadDim + 2), parts, out);
  }
}

}  // namespace sluice::engine::cuda
