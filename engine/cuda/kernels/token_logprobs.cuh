#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/logit_candidates.cuh"
#include "engine/cuda/kernels/logit_key.cuh"
#include "engine/cuda/kernels/logit_weight.cuh"
#include "engine/cuda/kernels/mass_search.cuh"
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
  if (!is_finite_key(top)) return static_cast<double>(kInfinity - kInfinity);
  const WeightScale scale{logit_of(top), 1.0F};
  const double sum =
      weigh_chunks(logits.vocab_size, memory, [&](int32_t token) { return weight_of(logits.at(token), scale); });
  return static_cast<double>(scale.max) + natural_log(sum);
}

/// Lists the `count` likeliest tokens in memory.listed, as likelihood_of has them, in no order; returns how many there
/// are, fewer where fewer are above -infinity. `top` is the key of the likeliest.
GPU_DEVICE int32_t list_top(const RowLogits& logits, int32_t count, uint32_t top, SamplingMemory& memory,
                            Candidates& candidates) {
  if (count <= 0 || top < kLowestKey) return 0;
  const uint32_t floor = floor_of_top(count, memory);
  collect(logits, floor, memory, candidates);
  const MassPoint last = find_mass<Until::kReached>(candidates, {floor, top}, static_cast<double>(count), memory,
                                                    [](int32_t) { return 1.0; });
  const int32_t kept = count_to_reach(last.left, 1.0);
  const auto likelihood_at = [&](int32_t i) { return likelihood_of(candidates.keys[i], candidates.tokens[i]); };
  const int32_t above = visit_in_order(
      candidates.count, memory, [&](int32_t i) { return candidates.keys[i] > last.key; },
      [&](int32_t i, int32_t rank) { memory.listed[rank] = likelihood_at(i); });
  const int32_t tied = visit_in_order(
      candidates.count, memory, [&](int32_t i) { return candidates.keys[i] == last.key; },
      [&](int32_t i, int32_t rank) {
        if (rank < kept) memory.listed[above + rank] = likelihood_at(i);
      });
  return above + least(tied, kept);
}

/// Writes the `count` likeliest tokens, best first.
GPU_DEVICE void write_top(const RowLogits& logits, int32_t row, int32_t count, uint32_t top, double total,
                          const LogprobRows& out, SamplingMemory& memory, Candidates& candidates) {
  const int32_t found = list_top(logits, count, top, memory, candidates);
  const int32_t thread = thread_number();
  if (thread == 0) out.top_count[row] = found;
  if (thread < found) {
    const uint64_t own = memory.listed[thread];
    int32_t rank = 0;
    for (int32_t i = 0; i < found; ++i) rank += memory.listed[i] > own ? 1 : 0;
    const int32_t at = row * kTopLogprobsRoom + rank;
    out.top_token[at] = token_of_likelihood(own);
    out.top_logprob[at] = logprob_of(logit_of(key_of_likelihood(own)), total);
  }
  gpu::sync_block();
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
    const uint32_t top = key_of_likelihood(find_top(of_row, memory));
    const double total = log_total(of_row, top, memory);
    if (thread_number() == 0) out.logprob[row] = logprob_of(of_row.at(tokens[row]), total);
    write_top(of_row, row, top_count, top, total, out, memory, candidates);
  }
}

}  // namespace sluice::engine::cuda
