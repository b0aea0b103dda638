#include "simulation/replay.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::simulation {
namespace {

using End = ReplayedRequest::End;
using std::chrono::milliseconds;

ReplayReport run(const std::vector<TracedArrival>& arrivals, const ReplayConfig& config) {
  return replay([&](uint64_t index) { return index < arrivals.size() ? std::optional(arrivals[index]) : std::nullopt; },
                config);
}

ReplayConfig ten_ms_steps() {
  ReplayConfig config;
  config.block_count = 64;
  config.prices = {.fixed_ms = 10};
  return config;
}

TEST(Replay, ARequestAloneTakesAStepPerToken) {
  const ReplayReport report =
      run({{.at = milliseconds(5), .prompt_tokens = 20, .max_tokens = 50, .output_tokens = 4}}, ten_ms_steps());
  ASSERT_EQ(report.requests.size(), 1U);
  const ReplayedRequest& request = report.requests.front();
  EXPECT_EQ(request.end, End::kFinished);
  EXPECT_EQ(request.output_tokens, 4);
  EXPECT_EQ(*request.ttft, milliseconds(10));
  EXPECT_EQ(*request.last, milliseconds(40));
  EXPECT_EQ(request.longest_gap, milliseconds(10));
  EXPECT_EQ(report.steps, 4U);
  EXPECT_EQ(report.duration, milliseconds(45));
}

TEST(Replay, FewerRowsMakeTheSecondWait) {
  const std::vector<TracedArrival> both(2, {.prompt_tokens = 4, .max_tokens = 3, .output_tokens = 3});
  ReplayConfig config = ten_ms_steps();
  EXPECT_EQ(*run(both, config).requests[1].ttft, milliseconds(10));
  config.scheduler.max_running = 1;
  EXPECT_EQ(*run(both, config).requests[1].ttft, milliseconds(40));
}

TEST(Replay, StepsCostWhatTheyCompute) {
  ReplayConfig config = ten_ms_steps();
  config.prices = {.fixed_ms = 1, .prefill_token_ms = 0.5, .decode_row_ms = 2};
  const ReplayReport report = run({{.prompt_tokens = 10, .max_tokens = 2, .output_tokens = 2}}, config);
  EXPECT_EQ(*report.requests[0].ttft, milliseconds(6));
  EXPECT_EQ(*report.requests[0].last, milliseconds(9));
}

TEST(Replay, PlanningTakesNoTimeOfADeviceThatRunsAhead) {
  const std::vector<TracedArrival> one = {{.prompt_tokens = 20, .max_tokens = 50, .output_tokens = 4}};
  ReplayConfig config = ten_ms_steps();
  config.host_time = milliseconds(3);
  EXPECT_EQ(*run(one, config).requests[0].last, milliseconds(4 * 13));
  config.steps_ahead = 1;
  const ReplayReport ahead = run(one, config);
  EXPECT_EQ(*ahead.requests[0].last, milliseconds(3 + 4 * 10));
  EXPECT_EQ(ahead.requests[0].output_tokens, 4);
  EXPECT_EQ(ahead.steps, 5U) << "that the fourth token was the last is known when the fifth row is launched";
  config.host_time = milliseconds(12);
  EXPECT_EQ(*run(one, config).requests[0].last, milliseconds(5 * 12)) << "the next launch comes before each token";
}

TEST(Replay, SharedTokensAreComputedOnce) {
  std::vector<TracedArrival> arrivals(5, {.prompt_tokens = 100, .shared_tokens = 96, .max_tokens = 1});
  for (size_t i = 0; i < arrivals.size(); ++i) arrivals[i].at = milliseconds(100 * i);
  ReplayConfig config = ten_ms_steps();
  EXPECT_EQ(run(arrivals, config).prefill_tokens, 100U + 4 * 4);
  config.shares_prefixes = false;
  EXPECT_EQ(run(arrivals, config).prefill_tokens, 500U);
  config.shares_prefixes = true;
  arrivals[4].tenant = "another";
  EXPECT_EQ(run(arrivals, config).prefill_tokens, 100U + 3 * 4 + 100);
}

TEST(Replay, DeadlinesExpireAndFullQueuesRefuse) {
  std::vector<TracedArrival> arrivals(4, {.prompt_tokens = 4, .max_tokens = 9, .output_tokens = 9});
  for (size_t i = 1; i < arrivals.size(); ++i) arrivals[i].at = milliseconds(1);  // while the first runs
  arrivals[1].deadline = milliseconds(30);
  ReplayConfig config = ten_ms_steps();
  config.scheduler.max_running = 1;
  config.scheduler.max_queued_requests = 1;
  const ReplayReport report = run(arrivals, config);
  EXPECT_EQ(report.requests[0].end, End::kFinished);
  EXPECT_EQ(report.requests[1].end, End::kExpired);
  EXPECT_EQ(report.requests[1].output_tokens, 0);
  EXPECT_EQ(report.requests[2].end, End::kRefused);
  EXPECT_EQ(report.requests[3].end, End::kRefused);
  config.waits_for_room = true;
  EXPECT_EQ(run(arrivals, config).requests[3].end, End::kFinished);
}

TEST(Replay, StopsWhereItIsToldTo) {
  ReplayConfig config = ten_ms_steps();
  config.steps_max = 5;
  config.waits_for_room = true;
  const auto endless = [](uint64_t) {
    return std::optional(TracedArrival{.prompt_tokens = 4, .max_tokens = 100, .output_tokens = 100});
  };
  const ReplayReport report = replay(endless, config);
  EXPECT_EQ(report.steps, 5U);
  EXPECT_EQ(report.requests.front().end, End::kUnfinished);
  EXPECT_EQ(report.requests.front().output_tokens, 5);
}

}  // namespace
}  // namespace sluice::simulation
