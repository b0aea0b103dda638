#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/sampling.h"
#include "scheduler/submission.h"
#include "scheduler/token_event.h"

namespace sluice::scheduler {

/// What is known of one sequence from outside, and what should come of it.
struct SequenceRecord {
  std::vector<int32_t> expected;  ///< its output alone
  int32_t computed = 0;           ///< tokens that are in the cache, found there or computed by steps planned so far
  int32_t under_way = 0;          ///< of these, computed by steps that are not committed
  int32_t drawing = 0;            ///< tokens that steps draw that are not committed
  int32_t cached = 0;             ///< of these, found there
  bool was_admitted = false;
  bool is_cancelled = false;  ///< by us
  bool has_ended = false;
  std::vector<int32_t> tokens;  ///< that came
  std::vector<int32_t> table;   ///< its blocks after the last plan
  std::optional<TimePoint> first_slice;
  TimePoint first_token{};
  TimePoint last_token{};
  Duration decode{};
  Duration interference{};
  Duration pause{};
  std::optional<TimePoint> pause_began;
  Duration pause_in_gap{};
};

/// What is known of one request from outside.
struct RequestRecord {
  Submission submission;
  std::vector<engine::SampledToken> expected_scores;
  std::vector<SequenceRecord> sequences;
  size_t scored_count = 0;
  bool is_accepted = false;
  bool is_refused = false;

  bool has_ended() const {
    for (const SequenceRecord& sequence : sequences) {
      if (!sequence.has_ended) return false;
    }
    return true;
  }
  bool has_started() const {
    for (const SequenceRecord& sequence : sequences) {
      if (sequence.was_admitted) return true;
    }
    return false;
  }
  /// Whether sequence `index` needs any step.
  bool has_work(size_t index) const { return submission.max_new_tokens > 0 || (index == 0 && submission.score_prompt); }
  int64_t tokens_max() const { return static_cast<int64_t>(submission.prompt.size()) + submission.max_new_tokens; }
};

}  // namespace sluice::scheduler
