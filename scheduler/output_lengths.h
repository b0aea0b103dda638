#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "scheduler/sequence_load.h"

namespace sluice::scheduler {

/// What is known of how long answers get: the Kaplan-Meier estimate (1958) of P(length > n) from the lengths of
/// recently finished sequences, those still running censored, and one pseudo-sequence that never ends, so that nothing
/// is ever held impossible.
///
/// A change of the load shows late in such an estimate, because the answers that are getting long have not ended yet.
/// So ends are also counted against those foretold: where fewer come, `trust` falls below 1 and survival is raised to
/// that power, as if every hazard had fallen alike (proportional hazards, Cox 1972).
class OutputLengths {
 public:
  /// A sequence has ended after `length` tokens; by itself, or at its cap, and then it would have been longer.
  void note_finished(int32_t length, bool at_cap);
  /// A step has drawn the token after `drawn` others, and at the cap it was not yet; `ended` says whether it was the
  /// last one all the same.
  void note_drawn(int32_t drawn, bool ended);

  /// Estimates anew from what has been noted. O(longest length + running).
  void refresh(std::span<const SequenceLoad> running);
  /// Enough has finished for an estimate.
  bool is_known() const { return static_cast<int32_t>(finished_.size()) >= kFinishedMin; }

  /// P(length > drawn + more | length > drawn), trust applied; 1 as long as nothing is known.
  double survival(int32_t drawn, int32_t more) const;
  /// The mean of tokens still to come after `drawn`, at most `left`.
  double mean_left(int32_t drawn, int32_t left) const;
  /// In (0, 1].
  double trust() const;

  static constexpr int32_t kFinishedMin = 21;

 private:
  size_t index_of(int32_t length) const;

  struct Finished {
    int32_t length;
    bool at_cap;
  };
  std::deque<Finished> finished_;     // the last kWindow
  std::vector<int32_t> ended_;        // scratch of refresh: [length]
  std::vector<int32_t> censored_;     // the same
  std::vector<double> log_survival_;  // [length]: log P(length > n)
  std::vector<double> survival_;      // the same to the power of trust, as a probability
  double expected_ends_ = 0;          // both forget, see note_drawn()
  double ends_ = 0;
};

}  // namespace sluice::scheduler
