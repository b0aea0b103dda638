#include <gtest/gtest.h>

#include "scheduler/scheduler.h"
#include "tests/scheduler/scheduler_rig.h"

namespace sluice::scheduler {
namespace {

TEST(B24_PrefixCache, ComputesTheCommonBeginningOfSixtyFourOnce) {
  const auto prefill_tokens = [](bool has_keys) {
    SchedulerConfig config = small_config(64, 64);
    config.tokens_per_step = 512;
    SchedulerRig rig(config, 8192, 16);
    for (uint64_t id = 1; id <= 64; ++id) {
      Submission submission = make_submission(7, 1000, 4);
      submission.id = {id};
      for (int32_t i = 0; i < 10; ++i) submission.prompt.push_back(static_cast<int32_t>(id) + i);
      if (has_keys) {
        rig.submit_with_keys(std::move(submission));
      } else {
        rig.submit(std::move(submission));
      }
    }
    rig.finish();
    EXPECT_EQ(count_of<SequenceFinished>(rig.events_), 64);
    EXPECT_EQ(event_of<SequenceFinished>(rig.events_, 1).ledger.cached_tokens, 0);
    EXPECT_EQ(event_of<SequenceFinished>(rig.events_, 64).ledger.cached_tokens, has_keys ? 992 : 0);
    EXPECT_EQ(rig.scheduler_.totals().cached_tokens, has_keys ? 63U * 992 : 0U);
    return rig.scheduler_.totals().prefill_tokens;
  };
  EXPECT_EQ(prefill_tokens(false), 64U * 1010);
  EXPECT_EQ(prefill_tokens(true), 1010U + 63 * 18);
}

TEST(B24_PrefixCache, GivesTheSameTokensEachTime) {
  SchedulerRig rig(small_config(4, 64), 64, 16);
  uint64_t id = 1;
  for (int round = 0; round < 3; ++round) {
    for (const int32_t length : {15, 16, 17, 32, 33}) {
      Submission submission = make_submission(7, length, 4);
      submission.id = {id++};
      rig.submit_with_keys(std::move(submission));
      rig.finish();
    }
  }
  for (uint64_t place = 1; place <= 5; ++place) {
    EXPECT_EQ(tokens_of(rig.events_, place).size(), 4U);
    EXPECT_EQ(tokens_of(rig.events_, place), tokens_of(rig.events_, place + 5));
    EXPECT_EQ(tokens_of(rig.events_, place), tokens_of(rig.events_, place + 10));
  }
  const auto cached = [&](uint64_t place) {
    return event_of<SequenceFinished>(rig.events_, place).ledger.cached_tokens;
  };
  EXPECT_EQ(cached(6), 0) << "15 tokens are no block";
  EXPECT_EQ(cached(7), 0) << "of 16 tokens the last is computed, so all of its block";
  EXPECT_EQ(cached(8), 16);
  EXPECT_EQ(cached(9), 16);
  EXPECT_EQ(cached(10), 32);
}

TEST(Scheduler, ForgetsTheCacheAfterAFailure) {
  SchedulerRig rig(small_config(4, 64), 64, 16);
  rig.submit_with_keys(make_submission(1, 40, 1));
  rig.finish();
  EXPECT_EQ(rig.pool_.counts().cached, 2);
  rig.scheduler_.fail_all(internal_error("out of order"), rig.clock_.now());
  EXPECT_EQ(rig.pool_.counts().cached, 0);
}

}  // namespace
}  // namespace sluice::scheduler
