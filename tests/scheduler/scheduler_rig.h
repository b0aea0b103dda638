#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/batch_builder.h"
#include "scheduler/scheduler.h"
#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {

/// A scheduler driven directly, each step taking 10 ms, and more with prompts if told so. Events pile up in order.
class SchedulerRig {
 public:
  SchedulerRig(const SchedulerConfig& config, int32_t block_count, int32_t block_size)
      : SchedulerRig(config, block_count, kvcache::BlockGrowth{block_size}) {}
  SchedulerRig(const SchedulerConfig& config, int32_t block_count, const kvcache::BlockGrowth& growth)
      : pool_(block_count, growth),
        executor_(block_count, growth, ServingParts::kVocabSize),
        scheduler_(config, pool_, hasher_, false) {}

  void submit(Submission submission) {
    submission.arrival = clock_.now();
    scheduler_.submit(std::move(submission), clock_.now());
  }
  void submit_with_keys(Submission submission) {
    add_prefix_keys(submission, hasher_, pool_.block_size());
    submit(std::move(submission));
  }
  void tick() {
    const StepPlan& plan = scheduler_.plan(clock_.now());
    if (!plan.empty()) {
      build_batch(plan, pool_.growth(), batch_);
      engine::StepOutput output = executor_.step(batch_).value();
      clock_.advance(std::chrono::milliseconds(10) + time_per_prompt_token_ * plan.prefill_tokens);
      scheduler_.commit(plan, std::move(output), clock_.now());
    }
    for (TokenEvent& event : scheduler_.take_events()) events_.push_back(std::move(event));
  }
  /// Ticks until nothing is alive; at most `ticks` times.
  void finish(int ticks = 1000) {
    while (scheduler_.has_work() && ticks-- > 0) tick();
    EXPECT_FALSE(scheduler_.has_work()) << "no end";
    EXPECT_EQ(pool_.counts().used, 0);
    EXPECT_EQ(scheduler_.reserved_blocks(), 0);
    EXPECT_EQ(scheduler_.waiting_count(), 0);
  }

  ManualClock clock_;
  Duration time_per_prompt_token_{};
  kvcache::BlockHasher hasher_ = test_hasher();
  kvcache::SharedBlockPool pool_;
  FakeExecutor executor_;
  Scheduler scheduler_;
  engine::Batch batch_;
  std::vector<TokenEvent> events_;
};

inline SchedulerConfig small_config(int32_t max_running, int32_t max_queued) {
  SchedulerConfig config;
  config.max_running = max_running;
  config.max_queued_requests = max_queued;
  config.tokens_per_step = 64;
  return config;
}

/// One that stops by itself after `length` tokens.
inline Submission ending_after(uint64_t id, int32_t prompt_length, int32_t max_new_tokens, size_t length) {
  Submission submission = make_submission(id, prompt_length, max_new_tokens);
  submission.stop_token_ids = {solo_output(submission, 0, ServingParts::kVocabSize).at(length - 1)};
  return submission;
}

}  // namespace sluice::scheduler
