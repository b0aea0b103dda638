#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "engine/cuda/cuda_support.h"
#include "engine/cuda/device_attention.h"
#include "engine/cuda/kernels/attention_launch.cuh"
#include "engine/cuda/kernels/rope_cache.cuh"

namespace sluice::engine::cuda {

/// Floats are for tests, whose models have the smallest heads.
template <typename Query>
using HeadDimsOf = std::conditional_t<std::is_same_v<Query, float>,
                                      std::integer_sequence<int32_t, 8, 16, 24, 32, 64, 80, 96, 128, 256>, HeadDims>;

/// Calls `run` with the head size as a constant; false when there are no kernels for it.
template <typename Query, typename Run>
bool with_head_dim(int32_t head_dim, const Run& run) {
  const auto run_if = [&]<int32_t kHeadDim>(std::integral_constant<int32_t, kHeadDim> size) {
    if (head_dim == kHeadDim) run(size);
    return head_dim == kHeadDim;
  };
  const auto run_any = [&]<int32_t... kHeadDims>(std::integer_sequence<int32_t, kHeadDims...>) {
    return (run_if(std::integral_constant<int32_t, kHeadDims>{}) || ...);
  };
  return run_any(HeadDimsOf<Query>{});
}

template <typename Query, typename Cached>
class TypedAttention final : public PagedAttention {
 public:
  explicit TypedAttention(Device& device) : device_(device) {}

  Status allocate(const KvLayout& layout, int32_t block_count) override;
  void attend(const AttentionCall& call, const StepShape& step, const StepInputs& inputs, StepStatus& status) override;

 private:
  static constexpr SplitLimits kUnsplit{.keys_min = 1 << 30, .splits_max = 1};

  struct Rows {
    int32_t begin = 0;
    int32_t count = 0;
  };

  PagedCache<Cached> cache_of(int32_t layer) const;
  AttentionShape shape_of(const AttentionCall& call) const;
  AttentionRows rows_of(const AttentionCall& call, const StepInputs& inputs) const;
  void store(const AttentionCall& call, const StepShape& step, const StepInputs& inputs, StepStatus& status);
  template <int32_t kHeadDim>
  void decode(const AttentionCall& call, const StepShape& step, const StepInputs& inputs, Rows rows,
              StepStatus& status);
  template <int32_t kHeadDim>
  void prefill(const AttentionCall& call, const StepShape& step, const StepInputs& inputs, StepStatus& status);

  Device& device_;
  KvLayout layout_;
  int64_t layer_elements_ = 0;  // keys, or values, of one layer of all blocks
  DeviceBuffer cache_;          // Cached [layers_per_block][keys, values][blocks][kv_heads][block_size][head_dim]
  DeviceBuffer scales_;         // HeadScales [layers_per_block][blocks][kv_heads][block_size], of types that have them
};

template <typename Query, typename Cached>
Status TypedAttention<Query, Cached>::allocate(const KvLayout& layout, int32_t block_count) {
  if (!with_head_dim<Query>(layout.head_dim, [](auto) {})) return no_such_heads(layout.head_dim);
  SLUICE_RETURN_IF_ERROR(check_block_size(layout.block_size));
  layout_ = layout;
  layer_elements_ = int64_t{block_count} * layout.kv_head_count * layout.block_size * layout.head_dim;
  const int64_t elements = 2 * layer_elements_ * layout.groups.layers_per_block;
  SLUICE_ASSIGN_OR_RETURN(
      cache_, DeviceBuffer::allocate(device_, elements * static_cast<int64_t>(sizeof(Cached)), "the KV cache"));
  if constexpr (kHasScales<Cached>) {
    const int64_t scales = elements / 2 / layout.head_dim;
    SLUICE_ASSIGN_OR_RETURN(
        scales_, DeviceBuffer::allocate(device_, scales * static_cast<int64_t>(sizeof(HeadScales)), "the KV cache"));
  }
  return {};
}

template <typename Query, typename Cached>
PagedCache<Cached> TypedAttention<Query, Cached>::cache_of(int32_t layer) const {
  const int64_t index = layout_.groups.places.at(static_cast<size_t>(layer)).index;
  const Cached* keys = cache_.as<const Cached>() + 2 * index * layer_elements_;
  PagedCache<Cached> cache{.keys = keys, .values = keys + layer_elements_, .block_size = layout_.block_size};
  if constexpr (kHasScales<Cached>) {
    const int64_t heads = layer_elements_ / layout_.head_dim;
    cache.scales = scales_.as<const HeadScales>() + index * heads;
  }
  return cache;
}

template <typename Query, typename Cached>
AttentionShape TypedAttention<Query, Cached>::shape_of(const AttentionCall& call) const {
  const int32_t group = layout_.groups.places.at(static_cast<size_t>(call.params.layer)).group;
  return {.head_count = call.params.head_count,
          .kv_head_count = layout_.kv_head_count,
          .window = layout_.groups.has_window(group) ? layout_.window : 0,
          .scale = call.params.scale};
}

template <typename Query, typename Cached>
AttentionRows TypedAttention<Query, Cached>::rows_of(const AttentionCall& call, const StepInputs& inputs) const {
  const int32_t group = layout_.groups.places.at(static_cast<size_t>(call.params.layer)).group;
  return {.row_begin = inputs.row_begin(),
          .positions = inputs.positions(),
          .table_begin = inputs.table_begin(group),
          .block_ids = inputs.block_ids()};
}

template <typename Query, typename Cached>
void TypedAttention<Query, Cached>::attend(const AttentionCall& call, const StepShape& step, const StepInputs& inputs,
                                           StepStatus& status) {
  store(call, step, inputs, status);
  with_head_dim<Query>(layout_.head_dim, [&]<int32_t kHeadDim>(std::integral_constant<int32_t, kHeadDim>) {
    for (int32_t begin = 0; begin < step.decode_rows; begin += kDecodeRowsMax) {
      const int32_t count = std::min(kDecodeRowsMax, step.decode_rows - begin);
      this->template decode<kHeadDim>(call, step, inputs, {begin, count}, status);
    }
    if (step.decode_rows < step.rows) this->template prefill<kHeadDim>(call, step, inputs, status);
  });
}

/// Queries to call.queries, keys and values to their slots.
template <typename Query, typename Cached>
void TypedAttention<Query, Cached>::store(const AttentionCall& call, const StepShape& step, const StepInputs& inputs,
                                          StepStatus& status) {
  const PagedCache<Cached> cache = cache_of(call.params.layer);
  const int32_t group = layout_.groups.places.at(static_cast<size_t>(call.params.layer)).group;
  status.add_launch(
      launch_rope_cache(RopeCacheArgs<float, Query, Cached>{.qkv = call.qkv,
                                                            .slots = inputs.slots(group),
                                                            .angles = call.angles,
                                                            .query_norm = call.query_norm,
                                                            .key_norm = call.key_norm,
                                                            .queries = static_cast<Query*>(call.queries),
                                                            .keys = const_cast<Cached*>(cache.keys),
                                                            .values = const_cast<Cached*>(cache.values),
                                                            .scales = const_cast<HeadScales*>(cache.scales),
                                                            .tokens = step.tokens,
                                                            .heads = call.params.head_count,
                                                            .kv_heads = layout_.kv_head_count,
                                                            .head_dim = layout_.head_dim,
                                                            .rope_dim = call.rope_dim,
                                                            .block_size = layout_.block_size,
                                                            .is_pairwise = call.is_pairwise},
                        device_.stream()),
      "rope_cache");
}

/// Rows of one token each, which come first in a batch: row r is token r.
template <typename Query, typename Cached>
template <int32_t kHeadDim>
void TypedAttention<Query, Cached>::decode(const AttentionCall& call, const StepShape& step, const StepInputs& inputs,
                                           Rows rows, StepStatus& status) {
  const AttentionShape shape = shape_of(call);
  const int64_t token_width = int64_t{shape.head_count} * kHeadDim;
  AttentionRows from = rows_of(call, inputs);
  from.positions += rows.begin;  // and row_begin stays: 0, 1, 2 and so on
  from.table_begin += rows.begin;
  const DecodeArguments<Query, Cached, float> arguments{
      .queries = {static_cast<const Query*>(call.queries) + rows.begin * token_width, token_width},
      .cache = cache_of(call.params.layer),
      .rows = from,
      .shape = shape,
      .limits = kDecodeSplits,
      .out = call.out + rows.begin * token_width,
      .workspace = call.partials};
  status.add_launch(launch_decode_attention<kHeadDim>(
                        arguments, {.rows = rows.count, .stream = device_.stream(), .overlaps_previous = true},
                        plan_splits(step.decode_context, shape.window, kDecodeSplits)),
                    "decode_attention");
}

template <typename Query, typename Cached>
template <int32_t kHeadDim>
void TypedAttention<Query, Cached>::prefill(const AttentionCall& call, const StepShape& step, const StepInputs& inputs,
                                            StepStatus& status) {
  const AttentionShape shape = shape_of(call);
  AttentionRows from = rows_of(call, inputs);
  from.row_begin += step.decode_rows;
  from.table_begin += step.decode_rows;
  const RowLaunch how{.rows = step.rows - step.decode_rows, .stream = device_.stream(), .overlaps_previous = true};
  const Queries<Query> queries{static_cast<const Query*>(call.queries), int64_t{shape.head_count} * kHeadDim};
  if constexpr (std::is_same_v<Query, gpu::Bf16> && kHeadDim % 16 == 0) {
    const PrefillArguments<Cached, float> arguments{
        .queries = queries, .cache = cache_of(call.params.layer), .rows = from, .shape = shape, .out = call.out};
    status.add_launch(launch_prefill_attention<kHeadDim>(arguments, how, step.prompt_slice), "prefill_attention");
  } else {
    const DecodeArguments<Query, Cached, float> arguments{.queries = queries,
                                                          .cache = cache_of(call.params.layer),
                                                          .rows = from,
                                                          .shape = shape,
                                                          .limits = kUnsplit,
                                                          .out = call.out,
                                                          .workspace = nullptr};
    status.add_launch(launch_decode_attention<kHeadDim>(arguments, how, 1), "decode_attention");
  }
}

}  // namespace sluice::engine::cuda
