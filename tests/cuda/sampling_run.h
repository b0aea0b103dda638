#pragma once

#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/draw_tokens.cuh"
#include "engine/cuda/kernels/penalties.cuh"
#include "engine/cuda/kernels/token_logprobs.cuh"
#include "engine/cuda/sampling_inputs.h"
#include "kernel_stream.h"
#include "tests/cuda/sampling_case.h"

namespace sluice::engine::cuda {

/// The sampling kernels over some cases of one vocabulary, as an executor launches them.
class SamplingRun {
 public:
  SamplingRun(std::span<const SamplingCase> cases, gpu::KernelOrder order, uint32_t blocks)
      : rows_(cases.size()), vocab_size_(cases.front().vocab_size()), blocks_(blocks), stream_(order) {
    std::vector<SampleRow> rows;
    for (const SamplingCase& a_case : cases) {
      rows.push_back(a_case.row());
      logits_.insert(logits_.end(), a_case.logits.begin(), a_case.logits.end());
      mask_of_row_.push_back(a_case.allowed.empty() ? -1 : mask_count_++);
      masks_.insert(masks_.end(), a_case.allowed.begin(), a_case.allowed.end());
    }
    inputs_.fill(rows, vocab_size_);
    history_logit_.resize(inputs_.history_token.size());
    bias_logit_.resize(inputs_.bias_token.size());
    const size_t room = blocks * static_cast<size_t>(vocab_size_);
    room_tokens_.resize(room);
    room_keys_.resize(room);
    room_weights_.resize(room);
    tokens_.resize(rows_);
    logprob_.resize(rows_);
    top_count_.resize(rows_);
    top_token_.resize(rows_ * kTopLogprobsRoom);
    top_logprob_.resize(rows_ * kTopLogprobsRoom);
  }

  /// All kernels, one after the other; checks that the logits come back as they were.
  std::vector<SampledToken> sample() {
    const std::vector<float> before = logits_;
    if (inputs_.has_changes()) apply();
    draw();
    if (inputs_.has_changes()) gpu::launch<undo_penalties>(launch(rows_), logits(), penalties());
    gpu::wait_for_kernels();
    EXPECT_EQ(std::memcmp(before.data(), logits_.data(), before.size() * sizeof(float)), 0);
    gpu::launch<token_logprobs>(launch(blocks_), logits(), draws(), static_cast<const int32_t*>(tokens_.data()), room(),
                                logprobs());
    gpu::wait_for_kernels();
    std::vector<SampledToken> sampled(rows_);
    for (size_t row = 0; row < rows_; ++row) sampled[row] = at(row);
    return sampled;
  }

  void apply() {
    gpu::launch<apply_penalties>(launch(rows_), logits(), penalties());
    gpu::wait_for_kernels();
  }
  const std::vector<float>& values() const { return logits_; }
  const std::vector<int32_t>& room_tokens() const { return room_tokens_; }  // [blocks][vocab_size]

 private:
  gpu::Launch launch(size_t blocks) {
    return {.grid = {static_cast<uint32_t>(blocks)},
            .block = {kSamplingThreads},
            .shared_bytes = sampling_shared_bytes(vocab_size_),
            .stream = stream_.get()};
  }

  void draw() {
    const GrammarMasks masks{masks_.data(), mask_count_ == 0 ? nullptr : mask_of_row_.data()};
    gpu::launch<draw_tokens>(launch(blocks_), logits(), masks, draws(), room(), tokens_.data());
  }

  LogitBatch logits() { return {logits_.data(), static_cast<int32_t>(rows_), vocab_size_}; }
  CandidateRoom room() { return {room_tokens_.data(), room_keys_.data(), room_weights_.data()}; }
  DrawRows draws() const {
    return {.temperature = inputs_.temperature.data(),
            .inverse_temperature = inputs_.inverse_temperature.data(),
            .top_k = inputs_.top_k.data(),
            .top_p = inputs_.top_p.data(),
            .min_p = inputs_.min_p.data(),
            .min_p_depth = inputs_.min_p_depth.data(),
            .unit = inputs_.unit.data(),
            .scored_token = inputs_.scored_token.data()};
  }
  PenaltyRows penalties() {
    return {.repetition = inputs_.repetition.data(),
            .presence = inputs_.presence.data(),
            .frequency = inputs_.frequency.data(),
            .history_begin = inputs_.history_begin.data(),
            .history_token = inputs_.history_token.data(),
            .history_count = inputs_.history_count.data(),
            .history_logit = history_logit_.data(),
            .bias_begin = inputs_.bias_begin.data(),
            .bias_token = inputs_.bias_token.data(),
            .bias = inputs_.bias.data(),
            .bias_logit = bias_logit_.data()};
  }
  LogprobRows logprobs() {
    return {.top_logprobs = inputs_.top_logprobs.data(),
            .logprob = logprob_.data(),
            .top_count = top_count_.data(),
            .top_token = top_token_.data(),
            .top_logprob = top_logprob_.data()};
  }

  SampledToken at(size_t row) const {
    SampledToken sampled{.token = tokens_[row], .logprob = logprob_[row]};
    for (size_t i = 0; i < static_cast<size_t>(top_count_[row]); ++i) {
      const size_t place = row * kTopLogprobsRoom + i;
      sampled.top.push_back({top_token_[place], top_logprob_[place]});
    }
    return sampled;
  }

  size_t rows_;
  int32_t vocab_size_;
  uint32_t blocks_;
  gpu::KernelStream stream_;
  SamplingInputs inputs_;
  std::vector<float> logits_;
  int32_t mask_count_ = 0;
  std::vector<int32_t> mask_of_row_;
  std::vector<uint32_t> masks_;
  std::vector<float> history_logit_;
  std::vector<float> bias_logit_;
  std::vector<int32_t> room_tokens_;
  std::vector<uint32_t> room_keys_;
  std::vector<float> room_weights_;
  std::vector<int32_t> tokens_;
  std::vector<float> logprob_;
  std::vector<int32_t> top_count_;
  std::vector<int32_t> top_token_;
  std::vector<float> top_logprob_;
};

}  // namespace sluice::engine::cuda
