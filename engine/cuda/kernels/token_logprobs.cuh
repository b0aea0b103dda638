#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/logit_candidates.cuh"
#include "engine/cuda/kernels/logit_key.cuh"
#include "engine/cuda/kernels/logit_weight.cuh"
#include "engine/cuda/kernels/sampling_block.cuh"
#include "engine/cuda/kernels/weight_sums.cuh"
#include "engine/cuda/sampling_rows.h"

namespace sluice::engine::cuda {

/// log p = logit - total.
GPU_DEVICE float logprob_of(float logit, double total) {
  return static_cast<float>(static_cast<double>(logit) - total);
}

/// The log of the sum of e^logit; NaN unless the largest logit, whose key is `top`, is finite.
GPU_DEVICE double log_total(const RowLogits& logits, uint32_t top, SamplingMemory& memory) {
  if (!is_finite_key(top)) return std::numeric_limits<double>::quiet_NaN();
  const WeightScale scale{logit_of(top), 1.0F};
  const double sum =
      weigh_chunks(logits.vocab_size, memory, [&](int32_t token) { return weight_of(logits.at(token), scale); });
  return static_cast<double>(scale.max) + natural_log(sum);
}

/// The likeliest candidate less likely than `bound`, as likelihood_of has it; 0 if there is none.
GPU_DEVICE uint64_t next_likeliest(const Candidates& candidates, uint64_t bound, SamplingMemory& memory) {
  uint64_t top = 0;
  for (int32_t i = thread_number(); i < candidates.count; i += kSamplingThreads) {
    const uint64_t likelihood = likelihood_of(candidates.keys[i], candidates.tokens[i]);
    if (likelihood < bound && likelihood > top) top = likelihood;
  }
  return top_of_block(top, memory);
}

/// Writes the `count` likeliest tokens, best first; fewer where fewer are above -infinity.
GPU_DEVICE void write_top(const RowLogits& logits, int32_t row, int32_t count, double total, const LogprobRows& out,
                          SamplingMemory& memory, Candidates& candidates) {
  int32_t found = 0;
  if (count > 0) collect(logits, floor_of_top(count, memory), memory, candidates);
  for (uint64_t bound = ~0ULL; found < count; ++found) {
    bound = next_likeliest(candidates, bound, memory);
    if (bound == 0) break;
    if (thread_number() != 0) continue;
    const int32_t at = row * kTopLogprobsRoom + found;
    out.top_token[at] = token_of_likelihood(bound);
    out.top_logprob[at] = logprob_of(logit_of(key_of_likelihood(bound)), total);
  }
  if (thread_number() == 0) out.top_count[row] = found;
}

/// The log-probabilities, of the model itself, of tokens [rows] and of the likeliest ones. The logits are without
/// penalties. Blocks as in draw_tokens.
GPU_KERNEL(kSamplingThreads)
void token_logprobs(LogitBatch logits, DrawRows rows, const int32_t* tokens, CandidateRoom room, LogprobRows out) {
  SamplingMemory& memory = gpu::shared<SamplingMemory>();
  Candidates candidates = candidates_of_block(room, logits.vocab_size);
  const auto blocks = static_cast<int32_t>(gpu::grid_size().x);
  for (auto row = static_cast<int32_t>(gpu::block_index().x); row < logits.rows; row += blocks) {
    const int32_t top_count = out.top_logprobs[row];
    if (top_count < 0 && rows.scored_token[row] < 0) {
      if (thread_number() == 0) {
        out.logprob[row] = 0.0F;
        out.top_count[row] = 0;
      }
      continue;
    }
    const RowLogits of_row{logits.values + static_cast<int64_t>(row) * logits.vocab_size, nullptr, logits.vocab_size};
    const double total = log_total(of_row, key_of_likelihood(find_top(of_row, memory)), memory);
    if (thread_number() == 0) out.logprob[row] = logprob_of(of_row.at(tokens[row]), total);
    write_top(of_row, row, top_count, total, out, memory, candidates);
  }
}

}  // namespace sluice::engine::cuda
