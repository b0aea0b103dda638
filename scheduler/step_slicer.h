#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "kvcache/shared_block_pool.h"
#include "scheduler/length_book.h"
#include "scheduler/row_throttle.h"
#include "scheduler/running_rows.h"
#include "scheduler/safe_state.h"
#include "scheduler/scheduler_config.h"
#include "scheduler/step_plan.h"
#include "scheduler/step_time_model.h"

namespace sluice::scheduler {

/// Decides what the running sequences compute in a step: every row that decodes first, each taking its next blocks if
/// it needs any and the state stays safe, else it is paused; then chunks of prompts, as long as the step stays in its
/// bounds, and none longer than the rings of window groups carry. Sequences go on from where the steps under way leave
/// them; one that reaches its cap with the token that is being drawn does not. Lends everything; one thread.
class StepSlicer {
 public:
  StepSlicer(kvcache::SharedBlockPool& pool, const LengthBook& lengths, const StepTimeModel& model)
      : pool_(pool), lengths_(lengths), model_(model) {}

  /// Fills the empty plan. The rows' loads are measured. Where nobody can go on before a step under way is over, the
  /// plan stays empty, and nobody is paused.
  void slice(RunningRows& running, const SchedulerConfig& limits, TimePoint now, StepPlan& plan);

 private:
  struct Chunk {
    Sequence* sequence = nullptr;
    int32_t left = 0;    // of its prompt, as far as one slice goes
    int32_t length = 0;  // of it in this step
  };

  void update_throttle(RunningRows& running);
  void slice_decodes(RunningRows& running, TimePoint now, StepPlan& plan);
  /// It draws slowly, and it isn't time for its next token.
  static bool is_held_back(const Sequence& sequence, TimePoint now);
  /// It has a place for its token, or may take the blocks for it.
  bool may_decode(const Sequence& sequence, const SequenceLoad& load);
  void slice_prompts(RunningRows& running, const SchedulerConfig& limits, StepPlan& plan);
  int32_t prompt_budget(const SchedulerConfig& limits, const Sequence& first, const StepPlan& plan) const;
  void share_out(int32_t budget);
  void add_chunk(Sequence& sequence, int32_t length, StepPlan& plan);
  static void add_slice(Sequence& sequence, int32_t length, const kvcache::BlockGrowth& growth, StepPlan& plan);

  kvcache::SharedBlockPool& pool_;
  const LengthBook& lengths_;
  const StepTimeModel& model_;
  RowThrottle throttle_;
  SafeState safe_;
  std::vector<Chunk> chunks_;    // of this step, in order of admission
  std::vector<Chunk*> by_left_;  // scratch
  uint64_t step_ = 0;
  uint64_t last_admission_ = 0;  // what the throttle last saw
  int32_t last_row_count_ = 0;   // the same
};

}  // namespace sluice::scheduler
