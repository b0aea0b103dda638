#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvcache/block_growth.h"
#include "scheduler/admission.h"
#include "scheduler/length_book.h"
#include "scheduler/sequence_load.h"

namespace sluice::scheduler {

/// What a forecast starts from. Everything is lent.
struct StartView {
  std::span<const SequenceLoad> running;
  int32_t capacity = 0;  ///< blocks
  int32_t shared = 0;
  kvcache::BlockGrowth growth{};
  int32_t max_running = 1;
  AdmissionPolicy policy = AdmissionPolicy::kAdaptive;
  double z = 0;
};

/// Simulates the near future to tell when a sequence that has to wait could start: everyone running draws a token a
/// step and ends after as many as are to be expected; whether there is room then is decided by the rule that will
/// decide it.
class StartForecast {
 public:
  StartForecast(const LengthBook& lengths, const kvcache::BlockGrowth& growth)
      : lengths_(&lengths), admission_(lengths, growth) {}

  /// Steps until `candidate` is admitted if nobody else comes; 0: now. O(n log n) decisions of the policy at most.
  int32_t steps_until_start(const StartView& view, const SequenceLoad& candidate);
  /// Whether `head`, which would start in `steps`, would have to wait longer if `passer` started now and ran to its
  /// cap.
  bool delays(const StartView& view, const SequenceLoad& passer, const SequenceLoad& head, int32_t steps);

 private:
  void expect(const StartView& view);
  /// Those still running after so many steps, at their sizes then.
  void advance(const StartView& view, int32_t steps);
  void add_if_running(const StartView& view, const SequenceLoad& sequence, int32_t expected, int32_t steps);
  bool admits(const StartView& view, const SequenceLoad& candidate);
  int32_t expected_left(const SequenceLoad& sequence) const;

  const LengthBook* lengths_;
  Admission admission_;
  std::vector<int32_t> expected_;       // [running]: steps after which each ends
  std::vector<int32_t> ends_;           // the same, ascending
  std::vector<SequenceLoad> advanced_;  // scratch
};

}  // namespace sluice::scheduler
