#include "bench/experiments/batch_size_collapse.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/experiments/naive_server.h"

namespace sluice::bench {
namespace {

using simulation::ReplayedRequest;
using simulation::TracedArrival;
using testing::HasSubstr;

const scheduler::StepPrices kPrices{.fixed_ms = 1, .prefill_token_ms = 0.1, .decode_row_ms = 0.2};

NaiveReport run_all(const std::vector<TracedArrival>& all, NaiveConfig config) {
  config.prices = kPrices;
  return run_naive([&](uint64_t index) { return index < all.size() ? std::optional(all[index]) : std::nullopt; },
                   config);
}

std::vector<TracedArrival> at_once(size_t count, int32_t prompt, int32_t output) {
  return {count, TracedArrival{.prompt_tokens = prompt, .max_tokens = output, .output_tokens = output}};
}

TEST(NaiveServer, AnswersOneRequestInTheTimeThePricesSay) {
  const NaiveReport report = run_all(at_once(1, 10, 3), {});
  ASSERT_EQ(report.replay.requests.size(), 1U);
  const ReplayedRequest& request = report.replay.requests[0];
  EXPECT_EQ(request.end, ReplayedRequest::End::kFinished);
  EXPECT_EQ(request.output_tokens, 3);
  EXPECT_DOUBLE_EQ(to_milliseconds(*request.ttft), 2.0);            // 1 + 10 * 0.1
  EXPECT_DOUBLE_EQ(to_milliseconds(*request.last), 2.0 + 2 * 1.2);  // two steps of one row
  EXPECT_DOUBLE_EQ(to_milliseconds(request.longest_gap), 1.2);
  EXPECT_EQ(report.evictions, 0);
}

TEST(NaiveServer, RefusesWhatNeverFitsAndWhatFindsTheQueueFull) {
  const NaiveReport never = run_all(at_once(1, 100, 100), {.block_count = 12, .block_size = 16});
  EXPECT_EQ(never.replay.requests[0].end, ReplayedRequest::End::kRefused);
  const NaiveReport full = run_all(at_once(5, 16, 4), {.max_running = 1, .max_queued_requests = 2});
  int refused = 0;
  for (const ReplayedRequest& request : full.replay.requests) {
    refused += request.end == ReplayedRequest::End::kRefused ? 1 : 0;
  }
  EXPECT_EQ(refused, 3);
}

TEST(NaiveServer, ThrowsTheNewestOutWhenBlocksRunOutAndStillAnswersAll) {
  // Four prompts of a block fit five blocks, but not what they grow to.
  const NaiveReport report = run_all(at_once(4, 16, 32), {.block_count = 5, .block_size = 16});
  EXPECT_GT(report.evictions, 0);
  EXPECT_GE(report.computed_twice, 16 * report.evictions);
  for (const ReplayedRequest& request : report.replay.requests) {
    EXPECT_EQ(request.end, ReplayedRequest::End::kFinished);
    EXPECT_EQ(request.output_tokens, 32);
  }
  // The oldest never waits for anyone.
  EXPECT_LT(report.replay.requests[0].longest_gap, report.replay.requests[3].longest_gap);
}

TEST(NaiveServer, ComputesNothingTwiceWhileBlocksLast) {
  const NaiveReport report = run_all(at_once(4, 16, 32), {.block_count = 12, .block_size = 16});
  EXPECT_EQ(report.evictions, 0);
  EXPECT_EQ(report.replay.prefill_tokens, 4U * 16U);
  EXPECT_EQ(report.replay.decode_rows, 4U * 31U);
}

TEST(NaiveServer, ExistsInNoConfigurationOfTheDaemon) {
  for (const char* const name : {"naive", "evict", "evicting", "prompt", "recompute"}) {
    scheduler::SchedulerConfig config;
    config.admission = name;
    EXPECT_FALSE(config.validate().ok()) << name;
  }
}

class Collapse : public testing::Test {
 protected:
  static CollapseConfig some_batches() {
    CollapseConfig config;
    config.max_running = {4, 7, 8, 64};
    return config;
  }
  static const CollapseResult& result_of(const CollapseConfig& config) {
    static const CollapseResult result = run_collapse(config);
    return result;
  }

  const CollapseConfig config_ = some_batches();
  const CollapseResult& result_ = result_of(config_);

  static const CollapseFigures& at(const std::vector<CollapseFigures>& rows, int32_t max_running) {
    return *std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.max_running == max_running; });
  }
};

TEST_F(Collapse, SparesWhoStaysWhereTheCacheReaches) {
  ASSERT_GE(rows_that_fit(config_), 7);
  for (const int32_t running : {4, 7}) {
    EXPECT_EQ(at(result_.naive, running).evictions, 0);
    EXPECT_NEAR(at(result_.naive, running).tokens_per_s, at(result_.plan, running).tokens_per_s,
                0.01 * at(result_.plan, running).tokens_per_s);
  }
}

TEST_F(Collapse, TakesTheNaiveServersFirstTokensAndThroughput) {
  const CollapseFigures& before = at(result_.naive, 8);
  const CollapseFigures& after = at(result_.naive, 64);
  EXPECT_GT(after.ttft_p99_ms, 4 * before.ttft_p99_ms);
  EXPECT_GT(after.ttft_p50_ms, 8 * before.ttft_p50_ms);
  EXPECT_GT(after.gap_p99_ms, 10 * before.gap_p99_ms);
  EXPECT_LT(after.tokens_per_s, 0.95 * before.tokens_per_s);
  EXPECT_GT(after.computed_twice, 0);
}

TEST_F(Collapse, LeavesPlanFlat) {
  const CollapseFigures& before = at(result_.plan, 8);
  const CollapseFigures& after = at(result_.plan, 64);
  EXPECT_LT(after.ttft_p99_ms, 1.1 * before.ttft_p99_ms);
  EXPECT_LT(after.gap_p99_ms, 1.5 * before.gap_p99_ms);
  EXPECT_GE(after.tokens_per_s, before.tokens_per_s);
  EXPECT_EQ(after.computed_twice, 0);
}

TEST_F(Collapse, GivesTheSameFiguresInAllItsForms) {
  const nlohmann::json json = nlohmann::json::parse(collapse_json(config_, result_));
  EXPECT_EQ(json["naive"].size(), config_.max_running.size());
  EXPECT_EQ(json["plan"].back()["output_tokens_per_second"], result_.plan.back().tokens_per_s);
  EXPECT_TRUE(json["simulated"]);
  EXPECT_THAT(collapse_text(config_, result_), HasSubstr("Simulated time with measured prices"));
  const std::string html = collapse_html(config_, result_, "batch-size-collapse --seed <1>");
  EXPECT_THAT(html, HasSubstr("Simulated time with measured prices"));
  EXPECT_THAT(html, HasSubstr("--seed &lt;1&gt;"));
}

TEST(CollapseConfig, RefusesWhatItCannotSimulate) {
  EXPECT_TRUE(CollapseConfig().validate().ok());
  const auto refused = [](auto change) {
    CollapseConfig config;
    change(config);
    return config.validate().message();
  };
  EXPECT_THAT(refused([](auto& c) { c.rate = 0; }), HasSubstr("--rate"));
  EXPECT_THAT(refused([](auto& c) { c.requests = 0; }), HasSubstr("--requests"));
  EXPECT_THAT(refused([](auto& c) { c.max_running = {0}; }), HasSubstr("--max-running"));
  EXPECT_THAT(refused([](auto& c) { c.max_running = {}; }), HasSubstr("--max-running"));
  EXPECT_THAT(refused([](auto& c) { c.tokens_per_step = 63; }), HasSubstr("--tokens-per-step"));
  EXPECT_THAT(refused([](auto& c) { c.block_count = 39; }), HasSubstr("--blocks"));
  EXPECT_THAT(refused([](auto& c) { c.block_size = 0; }), HasSubstr("--block-size"));
  EXPECT_THAT(refused([](auto& c) { c.max_queued_requests = -1; }), HasSubstr("--max-queued-requests"));
}

}  // namespace
}  // namespace sluice::bench
