#pragma once

#include <cstdint>

#include "engine/cuda/kernels/cached_head.cuh"
#include "engine/cuda/kernels/group.cuh"
#include "engine/cuda/kernels/norm_weight.cuh"
#include "engine/cuda/kernels/sums.cuh"

namespace sluice::engine::cuda {

/// From a layer's product to what attention takes: normalises and turns queries and keys, then puts queries to
/// `queries`, keys and values to the tokens' slots. In is bf16 or float, Cached bf16, half, Fp8 or float.
template <typename In, typename Query, typename Cached>
struct RopeCacheArgs {
  const In* qkv = nullptr;         // [tokens, heads + 2 * kv_heads, head_dim]: queries, keys, values
  const int32_t* slots = nullptr;  // [tokens], block * block_size + offset; what has none below 0 isn't cached
  const float* angles = nullptr;   // [tokens, rope_dim / 2, 2]: cosines and sines, magnitude included
  NormWeight query_norm{};         ///< of every query head [head_dim]; none when its weight is null
  NormWeight key_norm{};
  Query* queries = nullptr;      // [tokens, heads, head_dim]
  Cached* keys = nullptr;        // [blocks, kv_heads, block_size, head_dim]
  Cached* values = nullptr;      // [blocks, kv_heads, block_size, head_dim]
  HeadScales* scales = nullptr;  // [blocks, kv_heads, block_size] of Fp8 (cached_head.cuh), else none
  int32_t tokens = 0;
  int32_t heads = 0;
  int32_t kv_heads = 0;
  int32_t head_dim = 0;  ///< even, at most kRopeHeadDimMax
  int32_t rope_dim = 0;  ///< leading elements of a head that turn; even
  int32_t block_size = 0;
  bool is_pairwise = true;  ///< pairs are (2i, 2i + 1); else (i, i + rope_dim / 2)
};

constexpr int32_t kRopeThreads = 128;
constexpr int32_t kRopeHeadDimMax = 256;

/// How a head is spread over `lanes` neighbours of a warp, a power of two: each holds units of `kUnit` pairs.
struct HeadSpread {
  int32_t lanes = gpu::kWarpSize;
  int32_t pairs = 0;
  int32_t turned_pairs = 0;
  bool is_pairwise = true;

  GPU_DEVICE bool turns(int32_t pair) const { return pair < turned_pairs; }
  /// Where half `which` of the elements of `unit` pairs from `pair` on begins: first and second elements apart, or all
  /// side by side. Pairs that don't turn lie side by side behind those that do.
  GPU_DEVICE int32_t half(int32_t which, int32_t pair, int32_t unit) const {
    return turns(pair) && !is_pairwise ? pair + which * turned_pairs : 2 * pair + which * unit;
  }
};

GPU_DEVICE void turn_pair(float& x, float& y, float cosine, float sine) {
  const float turned = gpu::fma(x, cosine, -(y * sine));
  y = gpu::fma(y, cosine, x * sine);
  x = turned;
}

/// The part of a head in a thread's registers.
template <int32_t kUnit>
struct HeldHead {
  static constexpr int32_t kUnits = kUnit == kGroup ? 1 : kRopeHeadDimMax / 2 / gpu::kWarpSize;
  static constexpr int32_t kElements = 2 * kUnit;

  HeadSpread spread;
  float units[kUnits][2][kUnit];

  GPU_DEVICE int32_t pair_of(int32_t unit) const { return (gpu::lane() % spread.lanes + unit * spread.lanes) * kUnit; }

  /// action(its element's place, elements) of each half of each unit.
  template <typename Action>
  GPU_DEVICE void for_each_half(const Action& action) {
    for (int32_t u = 0; u < kUnits; ++u) {
      const int32_t pair = pair_of(u);
      if (pair >= spread.pairs) continue;
      for (int32_t h = 0; h < 2; ++h) action(spread.half(h, pair, kUnit), units[u][h]);
    }
  }

  template <typename T>
  GPU_DEVICE void load(const T* head) {
    for_each_half([&](int32_t at, float(&values)[kUnit]) { load_whole(head + at, values); });
  }
  template <typename T>
  GPU_DEVICE void store(T* head) {
    for_each_half([&](int32_t at, float(&values)[kUnit]) { store_whole(head + at, values); });
  }

  /// Of the whole head; the warp calls together.
  GPU_DEVICE float squares() {
    float sum = 0;
    for_each_half([&](int32_t /*at*/, float(&values)[kUnit]) {
      for (const float value : values) sum = gpu::fma(value, value, sum);
    });
    return sum_of_lanes(sum, spread.lanes);
  }

  /// Of the magnitudes of the whole head; the warp calls together.
  GPU_DEVICE float largest() {
    float most = 0;
    for_each_half([&](int32_t /*at*/, float(&values)[kUnit]) {
      for (const float value : values) {
        const float magnitude = value < 0 ? -value : value;
        most = magnitude > most ? magnitude : most;
      }
    });
    return largest_of_lanes(most, spread.lanes);
  }

  GPU_DEVICE void scale(float factor) {
    for_each_half([&](int32_t /*at*/, float(&values)[kUnit]) {
      for (float& value : values) value *= factor;
    });
  }

  GPU_DEVICE void scale(float factor, const float* weight) {
    for_each_half([&](int32_t at, float(&values)[kUnit]) {
      float weights[kUnit];
      load_whole(weight + at, weights);
      for (int32_t i = 0; i < kUnit; ++i) values[i] *= factor * weights[i];
    });
  }

  /// angles [turned pairs, 2] are those of the token's position.
  GPU_DEVICE void turn(const float* angles) {
    for (int32_t u = 0; u < kUnits; ++u) {
      if (spread.turns(pair_of(u))) turn_unit(units[u], angles + 2 * pair_of(u));
    }
  }

  GPU_DEVICE void turn_unit(float (&unit)[2][kUnit], const float* from) const {
    float angles[2][kUnit];
    for (int32_t h = 0; h < 2; ++h) load_whole(from + h * kUnit, angles[h]);
    const auto element = [](float(&of)[2][kUnit], int32_t i) -> float& { return of[i / kUnit][i % kUnit]; };
    for (int32_t i = 0; i < kUnit; ++i) {
      const float cosine = element(angles, 2 * i);
      const float sine = element(angles, 2 * i + 1);
      if (spread.is_pairwise) {
        turn_pair(element(unit, 2 * i), element(unit, 2 * i + 1), cosine, sine);
      } else {
        turn_pair(unit[0][i], unit[1][i], cosine, sine);
      }
    }
  }
};

/// Puts a head that has been normalised and turned to where it goes. `largest` is its largest magnitude, if scales are
/// kept.
template <int32_t kUnit, typename In, typename Query, typename Cached>
GPU_DEVICE void put_head(const RopeCacheArgs<In, Query, Cached>& args, int32_t token, int32_t head,
                         HeldHead<kUnit>& held, float largest) {
  if (head < args.heads) return held.store(args.queries + (int64_t{token} * args.heads + head) * args.head_dim);
  const int32_t slot = args.slots[token];
  if (slot < 0) return;
  const bool is_value = head >= args.heads + args.kv_heads;
  const int32_t kv_head = head - args.heads - (is_value ? args.kv_heads : 0);
  const int64_t block_head = int64_t{slot / args.block_size} * args.kv_heads + kv_head;
  const int64_t row = block_head * args.block_size + slot % args.block_size;
  if constexpr (kHasScales<Cached>) {
    const float scale = head_scale(largest);
    held.scale(1.0F / scale);
    if (gpu::lane() % held.spread.lanes == 0) (is_value ? args.scales[row].value : args.scales[row].key) = scale;
  }
  held.store((is_value ? args.values : args.keys) + row * args.head_dim);
}

/// `lanes` threads to a head.
template <int32_t kUnit, typename In, typename Query, typename Cached>
GPU_KERNEL(kRopeThreads)
void rope_cache_kernel(RopeCacheArgs<In, Query, Cached> args, int32_t lanes) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const int32_t place = (block_in_grid() * threads_in_block() + thread_number()) / lanes;
  const int32_t heads = args.heads + 2 * args.kv_heads;
  const int32_t token = place / heads;
  const int32_t head = place % heads;
  const bool exists = token < args.tokens;

  HeldHead<kUnit> held;
  held.spread = {lanes, exists ? args.head_dim / 2 : 0, exists ? args.rope_dim / 2 : 0, args.is_pairwise};
  held.load(args.qkv + int64_t{place} * args.head_dim);
  const float squares = held.squares();
  if (exists && head < args.heads + args.kv_heads) {
    // Member by member: a reference to either would put both to memory.
    const bool is_query = head < args.heads;
    const float* weight = is_query ? args.query_norm.weight : args.key_norm.weight;
    const float epsilon = is_query ? args.query_norm.epsilon : args.key_norm.epsilon;
    const float mean = squares / static_cast<float>(args.head_dim);
    if (weight != nullptr) held.scale(gpu::rsqrt(mean + epsilon), weight);
    held.turn(args.angles + int64_t{token} * args.rope_dim);
  }
  float largest = 0;
  if constexpr (kHasScales<Cached>) largest = held.largest();
  if (exists) put_head(args, token, head, held, largest);
}

template <typename In, typename Query, typename Cached>
int32_t launch_rope_cache(const RopeCacheArgs<In, Query, Cached>& args, void* stream) {
  const bool has_whole_groups = args.head_dim % (2 * kGroup) == 0 && args.rope_dim % (2 * kGroup) == 0;
  int32_t lanes = has_whole_groups ? 1 : gpu::kWarpSize;
  while (lanes * 2 * kGroup < args.head_dim && has_whole_groups) lanes *= 2;
  const int64_t threads = int64_t{args.tokens} * (args.heads + 2 * args.kv_heads) * lanes;
  const gpu::Launch how{.grid = {static_cast<uint32_t>(divide_up(threads, int64_t{kRopeThreads}))},
                        .block = {kRopeThreads},
                        .stream = stream,
                        .overlaps_previous = true};
  if (has_whole_groups) return gpu::launch<rope_cache_kernel<kGroup, In, Query, Cached>>(how, args, lanes);
  return gpu::launch<rope_cache_kernel<1, In, Query, Cached>>(how, args, lanes);
}

}  // namespace sluice::engine::cuda
