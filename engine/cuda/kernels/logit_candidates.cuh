#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/logit_key.cuh"
#include "engine/cuda/kernels/logit_weight.cuh"
#include "engine/cuda/kernels/sampling_block.cuh"
#include "engine/cuda/kernels/weight_sums.cuh"
#include "engine/cuda/sampling_rows.h"

namespace sluice::engine::cuda {

/// The logits of one row as a draw sees them: -infinity where a grammar forbids the token.
struct RowLogits {
  const float* values;      // [vocab_size]
  const uint32_t* allowed;  // [vocab_size / 32 rounded up]; null: all
  int32_t vocab_size;

  GPU_DEVICE float at(int32_t token) const {
    const bool is_allowed = allowed == nullptr || (allowed[token / 32] >> (token % 32) & 1U) != 0;
    return is_allowed ? values[token] : -kInfinity;
  }
  GPU_DEVICE uint32_t key_at(int32_t token) const { return key_of(at(token)); }
};

/// Some tokens of a row in the order of ids.
struct Candidates {
  int32_t* tokens;  // [count] as the next two
  uint32_t* keys;
  float* weights;
  int32_t count;
};

/// The block's share of the room.
GPU_DEVICE Candidates candidates_of_block(const CandidateRoom& room, int32_t vocab_size) {
  const int64_t begin = static_cast<int64_t>(gpu::block_index().x) * vocab_size;
  return {room.tokens + begin, room.keys + begin, room.weights + begin, 0};
}

/// The likeliest token as likelihood_of has it. Leaves the largest key each thread has seen in memory.thread_tops.
GPU_DEVICE uint64_t find_top(const RowLogits& row, SamplingMemory& memory) {
  uint64_t top = 0;
  for (int32_t token = thread_number(); token < row.vocab_size; token += kSamplingThreads) {
    const uint64_t likelihood = likelihood_of(row.key_at(token), token);
    top = likelihood > top ? likelihood : top;
  }
  memory.thread_tops[thread_number()] = key_of_likelihood(top);
  return top_of_block(top, memory);
}

/// A key that at least `count` tokens reach, if so many are above -infinity: the threads' tops are so many different
/// tokens, so the count-th largest of them will do. From what find_top leaves.
GPU_DEVICE uint32_t floor_of_top(int32_t count, SamplingMemory& memory) {
  if (count > kSamplingThreads) return kLowestKey;
  const uint32_t own = memory.thread_tops[thread_number()];
  int32_t rank = 0;
  for (int32_t i = 0; i < kSamplingThreads; ++i) {
    const uint32_t other = memory.thread_tops[i];
    rank += other > own || (other == own && i < thread_number()) ? 1 : 0;
  }
  if (rank == count - 1) memory.key = own > kLowestKey ? own : kLowestKey;
  gpu::sync_block();
  const uint32_t floor = memory.key;
  gpu::sync_block();
  return floor;
}

/// All tokens whose key is at least `floor`.
GPU_DEVICE void collect(const RowLogits& row, uint32_t floor, SamplingMemory& memory, Candidates& candidates) {
  candidates.count = visit_in_order(
      row.vocab_size, memory, [&](int32_t token) { return row.key_at(token) >= floor; },
      [&](int32_t token, int32_t rank) {
        candidates.tokens[rank] = token;
        candidates.keys[rank] = row.key_at(token);
      });
}

/// Gives each its weight; returns the sum, as engine::LogitCandidates::weigh adds it.
GPU_DEVICE double weigh(const WeightScale& scale, SamplingMemory& memory, const Candidates& candidates) {
  return weigh_chunks(candidates.count, memory, [&](int32_t i) {
    const float weight = weight_of(logit_of(candidates.keys[i]), scale);
    candidates.weights[i] = weight;
    return weight;
  });
}

}  // namespace sluice::engine::cuda
