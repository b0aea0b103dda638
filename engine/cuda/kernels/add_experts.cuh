#pragma once

#include <cstdint>

#include "engine/cuda/kernels/group.cuh"

namespace sluice::engine::cuda {

/// out[t] = added[t] + the sum of what the token's experts gave, each times its weight, in the order of its choices.
struct AddExpertsArgs {
  const float* added = nullptr;      // [tokens, width], or null for nothing; may be `out`
  const float* rows = nullptr;       // [tokens * per_token, width]
  const int32_t* rows_of = nullptr;  // [tokens, per_token]
  const float* weights = nullptr;    // [tokens, per_token]
  float* out = nullptr;              // [tokens, width]
  int32_t tokens = 0;
  int32_t per_token = 0;
  int32_t width = 0;
};

constexpr int32_t kAddExpertsThreads = 256;

/// A thread to a group.
GPU_KERNEL(kAddExpertsThreads)
void add_experts_kernel(AddExpertsArgs args) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const auto [token, at, left] = RowGroup::of_thread(args.width);
  if (left <= 0) return;
  float sum[kGroup] = {};
  if (args.added != nullptr) load_group(args.added + token * args.width + at, left, sum);
  for (int32_t rank = 0; rank < args.per_token; ++rank) {
    const int64_t choice = token * args.per_token + rank;
    const float weight = args.weights[choice];
    float values[kGroup];
    load_group(args.rows + int64_t{args.rows_of[choice]} * args.width + at, left, values);
    for (int32_t i = 0; i < kGroup; ++i) sum[i] = gpu::fma(weight, values[i], sum[i]);
  }
  store_group(args.out + token * args.width + at, left, sum);
}

inline int32_t launch_add_experts(const AddExpertsArgs& args, void* stream) {
  return gpu::launch<add_experts_kernel>(row_groups_launch(args.tokens, args.width, kAddExpertsThreads, stream), args);
}

}  // namespace sluice::engine::cuda
