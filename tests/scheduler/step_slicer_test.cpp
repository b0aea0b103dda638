#include "scheduler/step_slicer.h"

#include <deque>
#include <initializer_list>
#include <optional>

#include <gtest/gtest.h>

#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {
namespace {

using std::chrono::milliseconds;

constexpr int32_t kBlockSize = 4;

/// Answers were foretold to end after 10 tokens, and none of those foretold has come.
LengthBook doubted_book() {
  LengthBook book;
  for (int i = 0; i < 400; ++i) book.note_finished(0, 10, false);
  book.refresh({});
  for (int i = 0; i < 60; ++i) book.note_drawn(0, 9, false);
  return book;
}

class Slicer : public ::testing::Test {
 protected:
  explicit Slicer(const kvcache::BlockGrowth& growth = {kBlockSize}) : pool_(7, growth) {}

  Sequence& run(int32_t prompt, int32_t drawn, int32_t final_tokens, TimePoint last) {
    return run(prompt, drawn, final_tokens, last, prompt);
  }
  /// A sequence that has computed so much of its prompt, has drawn `drawn` tokens, the last of them at `last`, and may
  /// have `final_tokens` in all.
  Sequence& run(int32_t prompt, int32_t drawn, int32_t final_tokens, TimePoint last, int32_t computed) {
    const uint64_t number = requests_.size();
    Request& request = requests_.emplace_back(make_submission(number + 1, prompt, final_tokens - prompt), number, 0);
    Sequence& sequence = request.sequences().front();
    sequence.admit(pool_.new_table(pool_.capacity()), 0, number + 1);
    sequence.begin_slice(last);
    while (sequence.table().count() < pool_.growth().blocks_for(prompt)) sequence.take_block();
    if (computed > 0) compute(sequence, computed, drawn > 0);
    for (int32_t i = 0; i < drawn; ++i) {
      if (i > 0) compute(sequence, 1, true);
      sequence.append(0, false, last);
    }
    running_.add({&sequence, &request, 0});
    return sequence;
  }
  void compute(Sequence& sequence, int32_t length, bool draws) {
    while (sequence.table().count() < pool_.growth().blocks_for(sequence.computed_count() + length)) {
      sequence.take_block();
    }
    sequence.plan_slice(length, draws ? std::optional(0) : std::nullopt);
    sequence.advance(length);
  }
  const StepPlan& slice(TimePoint now) {
    plan_.clear();
    running_.measure(pool_);
    slicer_.slice(running_, limits_, now, plan_);
    return plan_;
  }
  void commit(TimePoint now) {
    for (const Slice& slice : plan_.slices) {
      slice.sequence->advance(slice.length);
      slice.sequence->append(0, false, now);
    }
  }

  const LengthBook lengths_ = doubted_book();
  const StepTimeModel model_;
  SchedulerConfig limits_;
  kvcache::SharedBlockPool pool_;
  std::deque<Request> requests_;
  RunningRows running_;
  StepSlicer slicer_{pool_, lengths_, model_};
  StepPlan plan_;
};

// Both need 3 more blocks, and 3 are free. The first is to go on at full speed, but still has a place; the second is
// slow, and takes one of the three for the token that it is due. Now the 2 that are left are all that it needs, so the
// first can't take one; were the second held back all the same, nobody would go on.
TEST_F(Slicer, NeverHoldsBackWhomTheOthersWaitFor) {
  const TimePoint begin = TimePoint(milliseconds(1000));
  const Sequence& fast = run(4, 4, 20, begin);
  const Sequence& slow = run(5, 4, 20, begin - milliseconds(300));
  ASSERT_EQ(pool_.counts().free, 3);
  ASSERT_EQ(slice(begin).decode_rows, 2);
  ASSERT_FALSE(fast.is_slow());
  ASSERT_TRUE(slow.is_slow());
  commit(begin + milliseconds(10));
  ASSERT_EQ(pool_.counts().free, 2);

  const StepPlan& plan = slice(begin + milliseconds(10));
  EXPECT_EQ(plan.paused_rows, 1);
  ASSERT_EQ(plan.decode_rows, 1);
  EXPECT_EQ(plan.slices.front().sequence, &slow);
}

TEST_F(Slicer, LeavesOutWhoDrawsItsLastTokenAndIsNotPaused) {
  const TimePoint begin = TimePoint(milliseconds(1000));
  run(4, 1, 6, begin);
  ASSERT_EQ(slice(begin).decode_rows, 1);
  const StepPlan& ahead = slice(begin);
  EXPECT_TRUE(ahead.empty());
  EXPECT_EQ(ahead.paused_rows, 0);
}

TEST_F(Slicer, GoesOnWithAPromptWhereTheStepUnderWayLeavesIt) {
  run(20, 0, 24, TimePoint(milliseconds(1000)), 0);
  limits_.tokens_per_step = 12;
  EXPECT_EQ(slice({}).slices.front().length, 12);
  const StepPlan& ahead = slice({});
  ASSERT_EQ(ahead.slices.size(), 1U);
  EXPECT_EQ(ahead.slices[0].begin, 12);
  EXPECT_EQ(ahead.slices[0].length, 8);
  EXPECT_TRUE(ahead.slices[0].draws);
  EXPECT_EQ(ahead.slices[0].drawn_before, -1);
}

TEST_F(Slicer, DrawsSlowlyForThoseWhoAreSlow) {
  const TimePoint begin = TimePoint(milliseconds(1000));
  run(4, 4, 16, begin);
  const Sequence& slow = run(4, 4, 20, begin);
  ASSERT_EQ(slice(begin).decode_rows, 1);
  EXPECT_TRUE(slow.is_slow());
  EXPECT_EQ(slice(begin + milliseconds(RowThrottle::kIntervalMs)).decode_rows, 2);
  const StepPlan& ahead = slice(begin + milliseconds(RowThrottle::kIntervalMs + 1));
  EXPECT_EQ(ahead.decode_rows, 1) << "a token of the slow one is being drawn";
  EXPECT_NE(ahead.slices.front().sequence, &slow);
}

/// A ring that has room for slices of 5 tokens.
class WindowedSlicer : public Slicer {
 protected:
  WindowedSlicer()
      : Slicer({.block_size = kBlockSize, .full_groups = 0, .window_groups = 1, .ring_blocks = 3, .window = 5}) {}

  const StepPlan& slice_prompts_of(std::initializer_list<int32_t> lengths) {
    for (const int32_t length : lengths) run(length, 0, length + 1, {}, 0);
    return slice({});
  }
};

TEST_F(WindowedSlicer, PlansNoSliceLongerThanRingsHaveRoomFor) {
  const StepPlan& plan = slice_prompts_of({12});
  ASSERT_EQ(plan.slices.size(), 1U);
  EXPECT_EQ(plan.slices[0].length, 5);
}

TEST_F(WindowedSlicer, GivesOthersWhatIsLeftOfTheStep) {
  const StepPlan& plan = slice_prompts_of({12, 5});
  ASSERT_EQ(plan.slices.size(), 2U);
  EXPECT_EQ(plan.slices[0].length, 5);
  EXPECT_EQ(plan.slices[1].length, 5);
  EXPECT_EQ(plan.prefill_tokens, 10);
}

}  // namespace
}  // namespace sluice::scheduler
