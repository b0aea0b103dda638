#include "scheduler/open_steps.h"

#include <gtest/gtest.h>

#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {
namespace {

class Steps : public ::testing::Test {
 protected:
  /// Opens a step of these.
  StepPlan& open(std::initializer_list<Sequence*> sliced, std::initializer_list<Sequence*> paused = {}) {
    StepPlan& plan = steps_.draft();
    for (Sequence* sequence : sliced) plan.slices.push_back({.sequence = sequence, .length = 1});
    plan.paused = paused;
    steps_.open();
    return plan;
  }

  const Submission submission_ = make_submission(1, 3, 3);
  Sequence a_{submission_, 0};
  Sequence b_{submission_, 1};
  OpenSteps steps_;
};

TEST_F(Steps, AreAtMostTwo) {
  EXPECT_TRUE(steps_.empty());
  open({&a_});
  open({&a_});
  EXPECT_EQ(steps_.count(), 2);
  EXPECT_DEATH(steps_.draft(), "kStepsMax");
  steps_.close_all();
  EXPECT_TRUE(steps_.empty());
  EXPECT_DEATH(steps_.close_oldest(), "count_ > 0");
}

TEST_F(Steps, CloseInTheOrderInWhichTheyOpened) {
  const StepPlan& first = open({&a_});
  const StepPlan& second = open({&b_});
  EXPECT_FALSE(first.is_ahead);
  EXPECT_TRUE(second.is_ahead);
  EXPECT_EQ(&steps_.oldest().plan, &first);
  steps_.close_oldest();
  EXPECT_EQ(&steps_.oldest().plan, &second);
  EXPECT_EQ(first.slices.size(), 1U) << "it stays as it is until the next is drafted";
  EXPECT_EQ(&steps_.draft(), &first);
  EXPECT_TRUE(first.empty());
}

TEST_F(Steps, ADraftThatIsNotOpenedIsNoStep) {
  steps_.draft().slices.push_back({.sequence = &a_});
  EXPECT_EQ(steps_.drop(a_), std::nullopt);
  EXPECT_TRUE(steps_.draft().empty());
}

TEST_F(Steps, ForgetWhoHasEndedAndTellTheLastThatWritesToItsBlocks) {
  StepPlan& first = open({&a_, &b_});
  StepPlan& second = open({&b_}, {&a_});
  const uint64_t number = steps_.oldest().number;
  EXPECT_EQ(steps_.drop(a_), number);
  EXPECT_EQ(first.slices[0].sequence, nullptr);
  EXPECT_EQ(first.slices[1].sequence, &b_);
  EXPECT_TRUE(second.paused.empty());
  EXPECT_EQ(steps_.drop(b_), number + 1);
  EXPECT_EQ(first.slices[1].sequence, nullptr);
  EXPECT_EQ(second.slices[0].sequence, nullptr);
  EXPECT_EQ(steps_.drop(b_), std::nullopt);
}

TEST_F(Steps, WhoWasOnlyLeftOutHasNoStep) {
  open({&a_}, {&b_});
  EXPECT_EQ(steps_.drop(b_), std::nullopt);
}

}  // namespace
}  // namespace sluice::scheduler
