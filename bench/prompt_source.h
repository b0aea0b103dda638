#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "bench/run_config.h"

namespace sluice::bench {

/// Synthetic prompts: token ids drawn from a vocabulary, a pure function of seed and index. The first ids of any two
/// prompts differ until the vocabulary is used up, so that no two prompts share a prefix but the one all are given.
class PromptSource {
 public:
  /// `excluded` ids are never drawn: end tokens would not be an ordinary text's. Fails when nothing is left to draw.
  static Result<PromptSource> create(int32_t vocab_size, const std::vector<int32_t>& excluded, TokenRange length,
                                     uint64_t seed);
  /// Puts the same `tokens` ids before every prompt.
  void share_prefix(int32_t tokens);

  /// `length.min` to `length.max` ids after the shared ones.
  std::vector<int32_t> prompt(uint64_t index) const;

 private:
  PromptSource(std::vector<int32_t> ids, TokenRange length, uint64_t seed);

  std::vector<int32_t> ids_;  // what may be drawn
  std::vector<int32_t> prefix_;
  TokenRange length_;
  uint64_t seed_;
};

}  // namespace sluice::bench
