#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/logit_kernels.h"

namespace sluice::engine {

/// Some tokens of a row in the order of ids, with their logits and weights. Keeps its memory from one draw to the next.
class LogitCandidates {
 public:
  /// All tokens whose logit is at least `floor`; NaN and -infinity never.
  void collect(const Logits& logits, double floor, const LogitKernels& kernels);
  /// Gives each its weight; returns the sum.
  double weigh(const LogitScale& scale, const LogitKernels& kernels);

  size_t count() const { return count_; }
  std::span<const int32_t> tokens() const { return std::span(tokens_).first(count_); }
  std::span<const float> logits() const { return std::span(logits_).first(count_); }
  std::span<float> weights() { return std::span(weights_).first(count_); }
  std::span<const float> weights() const { return std::span(weights_).first(count_); }
  size_t capacity() const { return tokens_.capacity(); }

 private:
  size_t count_ = 0;
  std::vector<int32_t> tokens_;  // [vocab_size rounded up to a block] the first count_ of them
  std::vector<float> logits_;
  std::vector<float> weights_;
};

}  // namespace sluice::engine
