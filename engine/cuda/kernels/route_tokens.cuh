#pragma once

#include <cstdint>

#include "engine/cuda/kernels/group.cuh"
#include "engine/cuda/kernels/logit_key.cuh"
#include "engine/cuda/kernels/sums.cuh"

namespace sluice::engine::cuda {

/// Which experts each token takes: those with its highest scores, of equal ones the first, by descending score. Their
/// weights are shares of the softmax of all scores, or with sums_to_one of the chosen ones alone. Without enough
/// numbers among the scores NaNs are chosen too, so that there is always an expert. A token that is nobody's takes what
/// the first does, so that no matrices are read for it alone.
struct RouteTokensArgs {
  const float* scores = nullptr;   // [tokens, experts]
  const int32_t* slots = nullptr;  // [tokens], below 0 where a token is nobody's; or null
  int32_t* chosen = nullptr;       // [tokens, per_token]
  float* weights = nullptr;        // [tokens, per_token]
  int32_t tokens = 0;
  int32_t experts = 0;    ///< at most kRoutedExpertsMax
  int32_t per_token = 0;  ///< at most kRoutedPerTokenMax, and no more than there are experts
  bool sums_to_one = true;
};

constexpr int32_t kRouteThreads = 128;
constexpr int32_t kScoresPerLane = 16;
constexpr int32_t kRoutedExpertsMax = kScoresPerLane * gpu::kWarpSize;
/// A lane keeps one choice.
constexpr int32_t kRoutedPerTokenMax = gpu::kWarpSize;

/// A token's scores as likelihood_of has them, spread over a warp: lane i has experts i, i + 32, ...; 0 is of none.
struct HeldScores {
  uint64_t held[kScoresPerLane];

  GPU_DEVICE void load(const float* scores, int32_t experts) {
    GPU_UNROLL
    for (int32_t i = 0; i < kScoresPerLane; ++i) {
      const int32_t expert = gpu::lane() + i * gpu::kWarpSize;
      held[i] = expert < experts ? likelihood_of(key_of(scores[expert]), expert) : 0;
    }
  }

  /// The expert with the highest score, which has none from then on.
  GPU_DEVICE int32_t take_best() {
    uint64_t best = 0;
    GPU_UNROLL
    for (int32_t i = 0; i < kScoresPerLane; ++i) best = held[i] > best ? held[i] : best;
    for (int32_t distance = gpu::kWarpSize / 2; distance > 0; distance /= 2) {
      const uint64_t other = gpu::shuffle_xor(best, distance);
      best = other > best ? other : best;
    }
    GPU_UNROLL
    for (int32_t i = 0; i < kScoresPerLane; ++i) held[i] = held[i] == best ? 0 : held[i];
    return token_of_likelihood(best);
  }
};

/// The sum of what softmax weighs scores by.
GPU_DEVICE float softmax_mass(const float* scores, int32_t experts, float highest) {
  float mass = 0;
  for (int32_t expert = gpu::lane(); expert < experts; expert += gpu::kWarpSize)
    mass += gpu::exp(scores[expert] - highest);
  return sum_of_lanes(mass);
}

/// A warp to a token.
GPU_KERNEL(kRouteThreads)
void route_tokens_kernel(RouteTokensArgs args) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const int64_t token = int64_t{block_in_grid()} * (kRouteThreads / gpu::kWarpSize) + gpu::warp();
  if (token >= args.tokens) return;
  const bool is_nobodys = args.slots != nullptr && args.slots[token] < 0;
  const float* scores = args.scores + (is_nobodys ? 0 : token * args.experts);
  HeldScores held;
  held.load(scores, args.experts);
  int32_t own_expert = 0;
  float own_weight = 0;
  float highest = 0;
  float mass = 0;
  for (int32_t rank = 0; rank < args.per_token; ++rank) {
    const int32_t expert = held.take_best();
    if (rank == 0) highest = scores[expert];
    const float weight = gpu::exp(scores[expert] - highest);
    mass += weight;
    if (gpu::lane() != rank) continue;
    own_expert = expert;
    own_weight = weight;
  }
  if (!args.sums_to_one) mass = softmax_mass(scores, args.experts, highest);
  if (gpu::lane() >= args.per_token) return;
  args.chosen[token * args.per_token + gpu::lane()] = own_expert;
  args.weights[token * args.per_token + gpu::lane()] = own_weight * (1.0F / mass);
}

inline int32_t launch_route_tokens(const RouteTokensArgs& args, void* stream) {
  const int32_t blocks = divide_up(args.tokens, kRouteThreads / gpu::kWarpSize);
  return gpu::launch<route_tokens_kernel>(
      {.grid = {static_cast<uint32_t>(blocks)}, .block = {kRouteThreads}, .stream = stream, .overlaps_previous = true},
      args);
}

}  // namespace sluice::engine::cuda
