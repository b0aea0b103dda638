#pragma once

#include <cstdint>

#include "engine/cuda/kernels/decode_partials.cuh"

/// Attention of rows that continue by a token (a few: one after the other), over any head size that is a multiple of 8
/// up to 256 and any stored element. Grid (splits, kv_heads * head sets, rows): a block reads its part of the context
/// once for all kHeads query heads of a set.
///
/// A team of lanes holds one key's head, eight elements a lane, and keeps its own running softmax over every
/// kTeams-th key; the teams' parts meet at the end. So no barrier stands between scores and values.
namespace sluice::engine::cuda {

constexpr int32_t kDecodeThreads = 128;
constexpr int32_t kDecodeWarps = kDecodeThreads / gpu::kWarpSize;

template <typename Element, int32_t kHeadDim>
struct DecodeGeometry {
  static_assert(kHeadDim % 8 == 0 && kHeadDim > 0 && kHeadDim <= 256);
  static constexpr int32_t kTeamLanes = kHeadDim <= 64 ? 8 : kHeadDim <= 128 ? 16 : 32;
  static constexpr int32_t kTeams = kDecodeThreads / kTeamLanes;
  /// Keys that are copied at a time: with two such stages 64 KiB at most, so that blocks share a multiprocessor and
  /// their copies hide each other's waiting. More of the smallest elements, or few bytes would be under way.
  static constexpr int32_t kKeyBytes = 2 * kHeadDim * static_cast<int32_t>(sizeof(Element));
  static constexpr int32_t kStageKeys = sizeof(Element) == 1 ? 64 : 2 * 32 * kKeyBytes <= 65536 ? 32 : 16;
  static_assert(kStageKeys % kTeams == 0 && kStageKeys % 8 == 0);
};

/// Of a stage's heads, where they have any.
template <int32_t kKeys, bool kExist>
struct StageScales {};
template <int32_t kKeys>
struct StageScales<kKeys, true> {
  alignas(16) HeadScales scales[kKeys];
};

template <typename Element, int32_t kHeadDim>
struct DecodeStage : StageScales<DecodeGeometry<Element, kHeadDim>::kStageKeys, kHasScales<Element>> {
  alignas(16) Element keys[DecodeGeometry<Element, kHeadDim>::kStageKeys][kHeadDim];
  alignas(16) Element values[DecodeGeometry<Element, kHeadDim>::kStageKeys][kHeadDim];
};

template <typename Element, int32_t kHeadDim, int32_t kHeads>
union DecodeShared {
  DecodeStage<Element, kHeadDim> stages[2];
  BlockPartials<kDecodeWarps, kHeads, kHeadDim> partials;  // when the stages are done with
};
static_assert(sizeof(DecodeShared<float, 256, 8>) <= gpu::kSharedBytesMax &&
              sizeof(DecodeShared<float, 128, 8>) <= gpu::kSharedBytesMax);

/// Copies the keys [from, from + kStageKeys) of a part. From and block_size are multiples of 8, so eight keys are one
/// run of 16-byte pieces. Those at and beyond the end are left out: the table may end there.
template <typename Element, int32_t kHeadDim>
GPU_DEVICE void copy_stage(DecodeStage<Element, kHeadDim>& to, const PagedCache<Element>& cache, const RowPages& pages,
                           int32_t from, int32_t end) {
  constexpr int32_t kPieceElements = 16 / static_cast<int32_t>(sizeof(Element));
  constexpr int32_t kPieces = 8 * kHeadDim / kPieceElements;
  constexpr int32_t kOctets = DecodeGeometry<Element, kHeadDim>::kStageKeys / 8;
  for (int32_t i = thread_number(); i < kOctets * kPieces; i += kDecodeThreads) {
    const int32_t key = i / kPieces * 8;
    if (from + key >= end) break;
    const int32_t piece = i % kPieces;
    const int64_t slot = pages.slot(from + key);
    const int64_t run = slot * kHeadDim + piece * kPieceElements;
    Element* keys = &to.keys[key][0] + piece * kPieceElements;
    Element* values = &to.values[key][0] + piece * kPieceElements;
    gpu::copy_async(keys, cache.keys + run);
    gpu::copy_async(values, cache.values + run);
    if constexpr (kHasScales<Element>) {
      static_assert(kPieces >= 4);  // of scales, two in each
      if (piece < 4) gpu::copy_async(&to.scales[key + 2 * piece], cache.scales + slot + 2 * piece);
    }
  }
}

/// Ones where the type has none.
template <typename Element, int32_t kHeadDim>
GPU_DEVICE HeadScales scales_of_key(const DecodeStage<Element, kHeadDim>& stage, int32_t key) {
  if constexpr (kHasScales<Element>) {
    return stage.scales[key];
  } else {
    return {1.0F, 1.0F};
  }
}

/// The running softmax of one team over its keys, for each head of the set.
template <int32_t kTeamLanes, int32_t kHeads>
struct TeamSoftmax {
  float query[kHeads][8];  // times the scale
  float sum[kHeads][8] = {};
  float top[kHeads];
  float mass[kHeads] = {};

  template <typename Query>
  GPU_DEVICE void start(const Query* queries, int32_t heads, int32_t head_dim, int32_t dim, float scale) {
    GPU_UNROLL
    for (int32_t h = 0; h < kHeads; ++h) {
      top[h] = kNoScore;
      if (h < heads && dim < head_dim) read_octet(query[h], queries + h * head_dim + dim);
      GPU_UNROLL
      for (int32_t i = 0; i < 8; ++i) query[h][i] = h < heads && dim < head_dim ? query[h][i] * scale : 0.0F;
    }
  }

  /// Scores of a key, whole in every lane of the team. All lanes of the warp call.
  GPU_DEVICE void score(float (&scores)[kHeads], const float (&key)[8]) const {
    GPU_UNROLL
    for (int32_t h = 0; h < kHeads; ++h) {
      float dot = 0.0F;
      GPU_UNROLL
      for (int32_t i = 0; i < 8; ++i) dot = gpu::fma(query[h][i], key[i], dot);
      GPU_UNROLL
      for (int32_t step = kTeamLanes / 2; step > 0; step /= 2) dot += gpu::shuffle_xor(dot, step);
      scores[h] = dot;
    }
  }

  /// The value is to be multiplied with `scale`.
  GPU_DEVICE void add(const float (&scores)[kHeads], const float (&value)[8], float scale) {
    GPU_UNROLL
    for (int32_t h = 0; h < kHeads; ++h) {
      const float larger = scores[h] > top[h] ? scores[h] : top[h];
      const float kept = weight_of(top[h], larger);
      const float weight = gpu::exp2(scores[h] - larger);
      const float scaled = weight * scale;
      mass[h] = gpu::fma(mass[h], kept, weight);
      GPU_UNROLL
      for (int32_t i = 0; i < 8; ++i) sum[h][i] = gpu::fma(sum[h][i], kept, scaled * value[i]);
      top[h] = larger;
    }
  }

  /// Joins the teams of a warp, in every one of them. All lanes of the warp call.
  GPU_DEVICE void join_teams() {
    GPU_UNROLL
    for (int32_t step = kTeamLanes; step < gpu::kWarpSize; step *= 2) {
      GPU_UNROLL
      for (int32_t h = 0; h < kHeads; ++h) {
        const float other = gpu::shuffle_xor(top[h], step);
        const float larger = other > top[h] ? other : top[h];
        const float kept = weight_of(top[h], larger);
        const float joined = weight_of(other, larger);
        mass[h] = mass[h] * kept + gpu::shuffle_xor(mass[h], step) * joined;
        GPU_UNROLL
        for (int32_t i = 0; i < 8; ++i) sum[h][i] = sum[h][i] * kept + gpu::shuffle_xor(sum[h][i], step) * joined;
        top[h] = larger;
      }
    }
  }
};

/// Adds one stage's keys. What is outside the part is never looked at: it may be of another sequence, or NaN.
template <typename Element, int32_t kHeadDim, int32_t kTeamLanes, int32_t kHeads>
GPU_DEVICE void attend_stage(TeamSoftmax<kTeamLanes, kHeads>& softmax, const DecodeStage<Element, kHeadDim>& stage,
                             int32_t from, KeyRange part) {
  using Geometry = DecodeGeometry<Element, kHeadDim>;
  const int32_t team = thread_number() / kTeamLanes;
  const int32_t dim = thread_number() % kTeamLanes * 8;
  for (int32_t first = 0; first < Geometry::kStageKeys && from + first < part.end; first += Geometry::kTeams) {
    const int32_t key = first + team;
    const bool is_seen = part.has(from + key);
    float elements[8] = {};
    float scores[kHeads];
    if (is_seen && dim < kHeadDim) read_octet(elements, &stage.keys[key][dim]);
    softmax.score(scores, elements);
    if (!is_seen) continue;
    // Powers of two: it makes no difference whether elements are multiplied with them or sums and weights.
    const HeadScales scales = scales_of_key(stage, key);
    for (float& score : scores) score *= scales.key;
    if (dim < kHeadDim) read_octet(elements, &stage.values[key][dim]);
    softmax.add(scores, elements, scales.value);
  }
}

/// Two stages: one is copied while the other is added.
template <typename Element, int32_t kHeadDim, int32_t kTeamLanes, int32_t kHeads>
GPU_DEVICE void attend_part(TeamSoftmax<kTeamLanes, kHeads>& softmax, DecodeStage<Element, kHeadDim> (&stages)[2],
                            const PagedCache<Element>& cache, const RowPages& pages, KeyRange part) {
  constexpr int32_t kStageKeys = DecodeGeometry<Element, kHeadDim>::kStageKeys;
  int32_t now = 0;
  int32_t from = part.begin / 8 * 8;
  copy_stage(stages[now], cache, pages, from, part.end);
  gpu::copy_async_commit();
  for (; from < part.end; from += kStageKeys, now ^= 1) {
    if (from + kStageKeys < part.end) copy_stage(stages[now ^ 1], cache, pages, from + kStageKeys, part.end);
    gpu::copy_async_commit();
    gpu::copy_async_wait<1>();
    gpu::sync_block();
    attend_stage(softmax, stages[now], from, part);
    gpu::sync_block();
  }
}

template <int32_t kHeadDim, int32_t kTeamLanes, int32_t kHeads>
GPU_DEVICE void keep_partials(BlockPartials<kDecodeWarps, kHeads, kHeadDim>& to,
                              const TeamSoftmax<kTeamLanes, kHeads>& softmax) {
  const int32_t dim = gpu::lane() * 8;
  if (gpu::lane() >= kTeamLanes) return;
  GPU_UNROLL
  for (int32_t h = 0; h < kHeads; ++h) {
    GPU_UNROLL
    for (int32_t i = 0; i < 8; ++i)
      if (dim < kHeadDim) to.sum[gpu::warp()][h][dim + i] = softmax.sum[h][i];
    if (dim == 0) to.top[gpu::warp()][h] = softmax.top[h];
    if (dim == 0) to.mass[gpu::warp()][h] = softmax.mass[h];
  }
}

template <int32_t kHeadDim, int32_t kHeads, typename Query, typename Element, typename Out>
GPU_DEVICE void decode_token(const DecodeArguments<Query, Element, Out>& arguments, const RowPages& pages,
                             PartialTarget target) {
  constexpr int32_t kTeamLanes = DecodeGeometry<Element, kHeadDim>::kTeamLanes;
  auto& shared = gpu::shared<DecodeShared<Element, kHeadDim, kHeads>>();
  const KeyRange seen = visible_keys(arguments.rows.positions[target.token], arguments.shape.window);
  const KeyRange part = split_part(seen, target.split, arguments.limits);
  if (part.begin >= part.end) return;
  target.parts = split_count(seen, arguments.limits);

  TeamSoftmax<kTeamLanes, kHeads> softmax;
  const Query* queries = arguments.queries.data + target.token * arguments.queries.token_stride +
                         static_cast<int64_t>(target.head) * kHeadDim;
  softmax.start(queries, target.heads, kHeadDim, thread_number() % kTeamLanes * 8, arguments.shape.scale_log2());
  attend_part(softmax, shared.stages, arguments.cache, pages, part);
  softmax.join_teams();
  keep_partials(shared.partials, softmax);
  gpu::sync_block();
  write_block_partials(shared.partials, arguments, target);
  gpu::sync_block();  // the next token's copies
}

template <int32_t kHeadDim, int32_t kHeads, typename Query, typename Element, typename Out>
GPU_KERNEL_RESIDENT(kDecodeThreads, kHeads <= 2 ? 4 : 1)
void decode_attention(DecodeArguments<Query, Element, Out> arguments) {
  const AttentionShape& shape = arguments.shape;
  const int32_t sets = (shape.group() + kHeads - 1) / kHeads;
  const int32_t kv_head = static_cast<int32_t>(gpu::block_index().y) / sets;
  const int32_t set_begin = static_cast<int32_t>(gpu::block_index().y) % sets * kHeads;
  const int32_t row = static_cast<int32_t>(gpu::block_index().z);
  PartialTarget target{.token = 0,
                       .head = kv_head * shape.group() + set_begin,
                       .heads = shape.group() - set_begin < kHeads ? shape.group() - set_begin : kHeads,
                       .split = static_cast<int32_t>(gpu::block_index().x),
                       .parts = 0};
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const RowPages pages = pages_of(arguments.cache, arguments.rows, row, shape, kv_head);
  for (target.token = arguments.rows.row_begin[row]; target.token < arguments.rows.row_begin[row + 1]; ++target.token)
    decode_token<kHeadDim, kHeads>(arguments, pages, target);
}

}  // namespace sluice::engine::cuda
