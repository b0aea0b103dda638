#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "engine/sampling.h"

namespace sluice::scheduler {

/// A request as the scheduler sees it: checked, tokenised and capped. Built on a front's thread, moved to the loop
/// thread.
struct Submission {
  RequestId id;
  std::vector<int32_t> prompt;  ///< token ids, never empty, each below the vocabulary size
  engine::SamplingParams sampling;
  uint64_t seed = 0;  ///< sequence i draws with its own stream derived from (seed, i)
  /// >= 0; 0 computes the prompt only (with score_prompt) and ends with kLength. prompt + max_new_tokens is within the
  /// model's context.
  int32_t max_new_tokens = 0;
  /// End a sequence with kStop; the model's end ids are here already unless ignored.
  std::vector<int32_t> stop_token_ids;
  int32_t sequence_count = 1;  ///< n
  /// Report the log-probability of each prompt token but the first, with sampling.top_logprobs alternatives.
  bool score_prompt = false;
  TimePoint arrival;
  TimePoint deadline = TimePoint::max();
};

}  // namespace sluice::scheduler
