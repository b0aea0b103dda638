#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/batch.h"
#include "engine/cuda/sampling_rows.h"

namespace sluice::engine::cuda {

/// What a batch's SampleRows mean for the sampling kernels, as the arrays of sampling_rows.h, in host memory: whoever
/// launches copies them to where the kernels read. Keeps its memory from one step to the next.
struct SamplingInputs {
  // [rows] each
  std::vector<float> temperature;
  std::vector<float> inverse_temperature;
  std::vector<int32_t> top_k;
  std::vector<float> top_p;
  std::vector<float> min_p;
  std::vector<double> min_p_depth;
  std::vector<double> unit;
  std::vector<int32_t> scored_token;
  std::vector<int32_t> top_logprobs;
  std::vector<float> repetition;
  std::vector<float> presence;
  std::vector<float> frequency;

  std::vector<int32_t> history_begin;  // [rows + 1]
  std::vector<int32_t> history_token;
  std::vector<int32_t> history_count;
  std::vector<int32_t> bias_begin;  // [rows + 1]
  std::vector<int32_t> bias_token;
  std::vector<float> bias;

  /// Whether any logit changes: else the kernels of penalties need not run.
  bool has_changes() const { return !history_token.empty() || !bias_token.empty(); }

  /// All parameters are valid for the vocabulary, and all tokens lie in it.
  void fill(std::span<const SampleRow> rows, int32_t vocab_size);
  /// What a row adds to history_token at most.
  static int64_t history_max(const SampleRow& row, int32_t vocab_size);

 private:
  void add_draw(const SampleRow& row);
  void add_history(const SampleRow& row);
  void add_biases(const SampleRow& row);

  std::vector<int32_t> places_;  // [vocab_size] where in history_token a row's token is; -1 between rows
};

}  // namespace sluice::engine::cuda
