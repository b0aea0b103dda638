#pragma once

#include <cstdint>
#include <limits>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/sampling_block.cuh"
#include "engine/cuda/sampling_rows.h"

namespace sluice::engine::cuda {

constexpr float kLargestLogit = std::numeric_limits<float>::max();

GPU_DEVICE float clamp_finite(float value) {
  if (value > kLargestLogit) return kLargestLogit;
  return value < -kLargestLogit ? -kLargestLogit : value;
}

GPU_DEVICE float penalised(float logit, int32_t count, const PenaltyRows& penalties, int32_t row) {
  const float repetition = penalties.repetition[row];
  logit = logit > 0.0F ? logit / repetition : gpu::rounded_product(logit, repetition);
  if (count > 0)
    logit -= penalties.presence[row] + gpu::rounded_product(penalties.frequency[row], static_cast<float>(count));
  return clamp_finite(logit);
}

/// What engine/penalties.h says, to the bit. One block per row.
GPU_KERNEL(kSamplingThreads) void apply_penalties(LogitBatch logits, PenaltyRows penalties) {
  const auto row = static_cast<int32_t>(gpu::block_index().x);
  float* const values = logits.values + static_cast<int64_t>(row) * logits.vocab_size;
  const int32_t history_end = penalties.history_begin[row + 1];
  for (int32_t i = penalties.history_begin[row] + thread_number(); i < history_end; i += kSamplingThreads) {
    float& logit = values[penalties.history_token[i]];
    penalties.history_logit[i] = logit;
    logit = penalised(logit, penalties.history_count[i], penalties, row);
  }
  gpu::sync_block();
  const int32_t bias_begin = penalties.bias_begin[row];
  const int32_t bias_end = penalties.bias_begin[row + 1];
  for (int32_t i = bias_begin + thread_number(); i < bias_end; i += kSamplingThreads) {
    const int32_t token = penalties.bias_token[i];
    if (i > bias_begin && penalties.bias_token[i - 1] == token) continue;  // the first of equal ones does them all
    float logit = values[token];
    penalties.bias_logit[i] = logit;
    for (int32_t j = i; j < bias_end && penalties.bias_token[j] == token; ++j)
      logit = clamp_finite(logit + penalties.bias[j]);
    values[token] = logit;
  }
}

/// Gives the logits back as they were, to the bit. One block per row.
GPU_KERNEL(kSamplingThreads) void undo_penalties(LogitBatch logits, PenaltyRows penalties) {
  const auto row = static_cast<int32_t>(gpu::block_index().x);
  float* const values = logits.values + static_cast<int64_t>(row) * logits.vocab_size;
  const int32_t bias_begin = penalties.bias_begin[row];
  const int32_t bias_end = penalties.bias_begin[row + 1];
  for (int32_t i = bias_begin + thread_number(); i < bias_end; i += kSamplingThreads) {
    const int32_t token = penalties.bias_token[i];
    if (i == bias_begin || penalties.bias_token[i - 1] != token) values[token] = penalties.bias_logit[i];
  }
  gpu::sync_block();  // a token may be in both: history came first and goes last
  const int32_t history_end = penalties.history_begin[row + 1];
  for (int32_t i = penalties.history_begin[row] + thread_number(); i < history_end; i += kSamplingThreads)
    values[penalties.history_token[i]] = penalties.history_logit[i];
}

}  // namespace sluice::engine::cuda
