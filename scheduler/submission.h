#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "engine/sampling.h"
#include "kvcache/block_key.h"

namespace sluice::scheduler {

/// The names of a prompt's blocks in the prefix index.
struct PrefixKeys {
  kvcache::BlockKey root;                 ///< what the first block follows
  std::vector<kvcache::BlockKey> blocks;  ///< of the prompt's full blocks
};

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
  /// Who asks; shares are fair among tenants.
  std::string tenant;
  /// Lower ones are served first.
  int32_t priority = 0;
  /// Of its blocks, in the salt of those it may share them with; nothing: it shares none.
  std::optional<PrefixKeys> prefix_keys;
  TimePoint arrival;
  TimePoint deadline = TimePoint::max();

  /// Whether it needs any step at all: it draws tokens, or scores its prompt.
  bool has_work() const { return max_new_tokens > 0 || score_prompt; }
};

}  // namespace sluice::scheduler
