#include "server/metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/shortage.h"
#include "tests/server/scraped_metrics.h"

namespace sluice::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Daemon = ScrapedMetrics;

scheduler::Ledger ledger_of(int32_t tokens, Duration first, Duration last) {
  scheduler::Ledger ledger;
  ledger.first_token = ledger.arrival + first;
  ledger.last_token = ledger.arrival + last;
  ledger.output_tokens = tokens;
  return ledger;
}

TEST(B25_Metrics, a_one_token_gives_a_ttft_and_no_tpot) {
  Daemon daemon;
  daemon.metrics.observe_first_token("", milliseconds(30));
  daemon.metrics.observe_sequence(ledger_of(1, milliseconds(30), milliseconds(30)));
  EXPECT_EQ(daemon.value("sluice_time_to_first_token_seconds_count"), 1);
  EXPECT_EQ(daemon.value("sluice_time_per_output_token_seconds_count"), 0);
}

TEST(B25_Metrics, b_no_token_gives_no_tpot_and_no_nan) {
  Daemon daemon;
  daemon.metrics.observe_sequence(ledger_of(0, {}, {}));
  EXPECT_EQ(daemon.value("sluice_time_per_output_token_seconds_count"), 0);
  EXPECT_EQ(daemon.value("sluice_time_per_output_token_seconds_sum"), 0);
}

TEST(B25_Metrics, c_tpot_is_last_minus_first_over_tokens_minus_one) {
  Daemon daemon;
  daemon.metrics.observe_sequence(ledger_of(11, milliseconds(100), milliseconds(400)));
  EXPECT_EQ(daemon.value("sluice_time_per_output_token_seconds_count"), 1);
  EXPECT_NEAR(daemon.value("sluice_time_per_output_token_seconds_sum"), 0.030, 1e-9);
  daemon.metrics.observe_sequence(ledger_of(2, milliseconds(100), milliseconds(150)));
  EXPECT_NEAR(daemon.value("sluice_time_per_output_token_seconds_sum"), 0.080, 1e-9);
}

TEST(B25_Metrics, e_a_request_that_was_not_taken_is_only_counted) {
  Daemon daemon;
  daemon.metrics.observe_request({.outcome = Outcome::kInvalid, .was_accepted = false, .prompt_tokens = 5});
  daemon.metrics.observe_request({.outcome = Outcome::kRefused, .was_accepted = false, .prompt_tokens = 5});
  EXPECT_EQ(daemon.value("sluice_requests_total{outcome=\"invalid\"}"), 1);
  EXPECT_EQ(daemon.value("sluice_requests_total{outcome=\"refused\"}"), 1);
  EXPECT_EQ(daemon.value("sluice_time_to_first_token_seconds_count"), 0);
  EXPECT_EQ(daemon.value("sluice_request_queue_seconds_count"), 0);
  EXPECT_EQ(daemon.value("sluice_request_end_to_end_seconds_count"), 0);
  EXPECT_EQ(daemon.value("sluice_prompt_tokens_total"), 0);
}

TEST(B25_Metrics, never_has_nan_and_inf_only_as_the_last_bucket) {
  Daemon daemon;
  daemon.metrics.observe_first_token("", Duration::min());
  daemon.metrics.observe_first_token("", Duration::max());
  daemon.metrics.observe_token_gap(milliseconds(-5));
  daemon.metrics.observe_sequence(ledger_of(5, milliseconds(10), milliseconds(5)));
  daemon.metrics.observe_request(
      {.prompt_tokens = 1, .output_tokens = 1, .queue = milliseconds(-1), .end_to_end = milliseconds(-1)});
  for (const auto& [series, value] : daemon.scrape()) {
    EXPECT_TRUE(std::isfinite(value)) << series;
    EXPECT_GE(value, 0) << series;
    EXPECT_TRUE(series.find("Inf") == std::string::npos || series.find("le=\"+Inf\"") != std::string::npos) << series;
  }
}

TEST(Metrics, EndToEndIsObservedOnlyForRequestsThatRanToTheirEnd) {
  Daemon daemon;
  for (const Outcome outcome : {Outcome::kCancelled, Outcome::kDeadline, Outcome::kError})
    daemon.metrics.observe_request({.outcome = outcome,
                                    .prompt_tokens = 10,
                                    .output_tokens = 3,
                                    .queue = milliseconds(5),
                                    .end_to_end = seconds(1)});
  EXPECT_EQ(daemon.value("sluice_request_end_to_end_seconds_count"), 0);
  EXPECT_EQ(daemon.value("sluice_request_queue_seconds_count"), 3);
  for (const Outcome outcome : {Outcome::kStop, Outcome::kLength})
    daemon.metrics.observe_request({.outcome = outcome,
                                    .prompt_tokens = 10,
                                    .output_tokens = 3,
                                    .queue = milliseconds(5),
                                    .end_to_end = seconds(1)});
  EXPECT_EQ(daemon.value("sluice_request_end_to_end_seconds_count"), 2);
  EXPECT_EQ(daemon.value("sluice_request_end_to_end_seconds_sum"), 2);
  EXPECT_EQ(daemon.value("sluice_prompt_tokens_total"), 50);
  EXPECT_EQ(daemon.value("sluice_generated_tokens_total"), 15);
}

TEST(Metrics, ALedgerIsObservedPartByPart) {
  Daemon daemon;
  scheduler::Ledger ledger;
  ledger.prefill = std::chrono::milliseconds(20);
  ledger.decode = std::chrono::milliseconds(300);
  ledger.interference = std::chrono::milliseconds(40);
  ledger.pause = std::chrono::milliseconds(500);
  daemon.metrics.observe_ledger(ledger, std::chrono::milliseconds(6));
  EXPECT_EQ(daemon.value("sluice_request_prefill_seconds_count"), 0) << "it never came to a token";
  ledger.output_tokens = 2;
  daemon.metrics.observe_ledger(ledger, std::chrono::milliseconds(6));
  EXPECT_NEAR(daemon.value("sluice_request_prefill_seconds_sum"), 0.02, 1e-9);
  EXPECT_NEAR(daemon.value("sluice_request_decode_seconds_sum"), 0.3, 1e-9);
  EXPECT_NEAR(daemon.value("sluice_request_interference_seconds_sum"), 0.04, 1e-9);
  EXPECT_NEAR(daemon.value("sluice_request_pause_seconds_sum"), 0.5, 1e-9);
  EXPECT_NEAR(daemon.value("sluice_request_delivery_seconds_sum"), 0.012, 1e-9);
}

TEST(Metrics, WaitingRequestsStandUnderWhatTheNextOneLacks) {
  Daemon daemon;
  daemon.stats.waiting = 5;
  daemon.stats.waiting_for = static_cast<int32_t>(scheduler::Shortage::kKv);
  EXPECT_EQ(daemon.value("sluice_requests_waiting_by_reason{reason=\"kv\"}"), 5);
  EXPECT_EQ(daemon.value("sluice_requests_waiting_by_reason{reason=\"rows\"}"), 0);
  daemon.stats.waiting = 0;
  EXPECT_EQ(daemon.value("sluice_requests_waiting_by_reason{reason=\"kv\"}"), 0);
}

TEST(Metrics, PausesAndTheCacheAreCounted) {
  Daemon daemon;
  daemon.stats.pauses = 7;
  daemon.stats.paused_sequences = 2;
  daemon.stats.prompt_tokens = 100;
  daemon.stats.cached_tokens = 64;
  daemon.stats.blocks_cached = 4;
  daemon.stats.decode_stall_seconds = 1.5;
  EXPECT_EQ(daemon.value("sluice_pauses_total"), 7);
  EXPECT_EQ(daemon.value("sluice_paused_sequences_total"), 2);
  EXPECT_EQ(daemon.value("sluice_prefix_cache_queries_total"), 100);
  EXPECT_EQ(daemon.value("sluice_prefix_cache_hits_total"), 64);
  EXPECT_EQ(daemon.value("sluice_kv_blocks_cached"), 4);
  EXPECT_EQ(daemon.value("sluice_decode_stall_seconds_total"), 1.5);
}

TEST(Metrics, EveryOutcomeIsThereBeforeItHappens) {
  const Daemon daemon;
  for (const Outcome outcome : {Outcome::kStop, Outcome::kLength, Outcome::kCancelled, Outcome::kDeadline,
                                Outcome::kError, Outcome::kRefused, Outcome::kInvalid})
    EXPECT_EQ(daemon.value("sluice_requests_total{outcome=\"" + std::string(outcome_name(outcome)) + "\"}"), 0);
}

TEST(Metrics, GaugesFollowTheLoopAlsoWhenItIsIdle) {
  Daemon daemon;
  daemon.stats.running = 3;
  daemon.stats.waiting = 4;
  daemon.stats.blocks_total = 100;
  daemon.stats.blocks_used = 30;
  daemon.stats.blocks_reserved = 55;
  daemon.stats.steps = 7;
  daemon.stats.prefill_tokens = 8;
  daemon.stats.decode_tokens = 9;
  daemon.stats.refused = 2;
  daemon.stats.last_step_ns = 1'500'000;
  EXPECT_EQ(daemon.value("sluice_requests_running"), 3);
  EXPECT_EQ(daemon.value("sluice_requests_waiting"), 4);
  EXPECT_EQ(daemon.value("sluice_kv_blocks{state=\"free\"}"), 70);
  EXPECT_EQ(daemon.value("sluice_kv_blocks{state=\"used\"}"), 30);
  EXPECT_EQ(daemon.value("sluice_kv_blocks{state=\"reserved\"}"), 55);
  EXPECT_EQ(daemon.value("sluice_kv_blocks_capacity"), 100);
  EXPECT_EQ(daemon.value("sluice_steps_total"), 7);
  EXPECT_EQ(daemon.value("sluice_prefill_tokens_total"), 8);
  EXPECT_EQ(daemon.value("sluice_decode_tokens_total"), 9);
  EXPECT_EQ(daemon.value("sluice_refused_total"), 2);
  EXPECT_EQ(daemon.value("sluice_preemptions_total"), 0);
  EXPECT_NEAR(daemon.value("sluice_last_step_seconds"), 0.0015, 1e-12);
  daemon.stats.running = 0;
  EXPECT_EQ(daemon.value("sluice_requests_running"), 0);
}

/// The upper bounds of a histogram, without +Inf.
std::vector<double> bounds_of(const std::string& text, const std::string& family) {
  std::vector<double> bounds;
  std::istringstream lines(text);
  const std::string head = family + "_bucket{le=\"";
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(head, 0) == 0 && line.find("+Inf") == std::string::npos)
      bounds.push_back(std::stod(line.substr(head.size())));
  }
  return bounds;
}

void expect_bounds(const std::string& family, const std::vector<double>& expected) {
  const std::vector<double> bounds = bounds_of(Daemon().metrics.scrape(), family);
  EXPECT_TRUE(std::is_sorted(bounds.begin(), bounds.end())) << family;
  for (const double bound : expected)
    EXPECT_NE(std::find(bounds.begin(), bounds.end(), bound), bounds.end()) << family << ' ' << bound;
}

TEST(Metrics, BucketsHoldEveryBoundThatDashboardsKnow) {
  expect_bounds("sluice_time_to_first_token_seconds",
                {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                 1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560});
  for (const char* const family : {"sluice_inter_token_latency_seconds", "sluice_time_per_output_token_seconds"})
    expect_bounds(family, {0.001, 0.008, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4,
                           0.5,   0.75,  1,    2.5,   5,    7.5,   10,  20,   40,  80});
  for (const char* const family : {"sluice_request_queue_seconds", "sluice_request_end_to_end_seconds"})
    expect_bounds(family, {0.01, 0.1, 0.3, 0.5, 0.8, 1,   1.5, 2,   2.5, 5,    10,  15,
                           20,   30,  40,  50,  60,  120, 240, 480, 960, 1920, 7680});
}

/// Families whose unit is tokens or rows, not seconds.
bool counts_things(const std::string& family) {
  return family.ends_with("_tokens") || family.ends_with("_rows") || family.ends_with("_choices") ||
         family.ends_with("_ratio");
}

TEST(Metrics, EveryFamilyHasHelpATypeAndOurPrefix) {
  std::istringstream text(Daemon({.has_vllm_names = false}).metrics.scrape());
  int families = 0;
  std::string helped;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string mark;
    std::string kind;
    std::string name;
    words >> mark >> kind >> name;
    if (mark != "#") {
      EXPECT_TRUE(line.starts_with(helped)) << line;
      continue;
    }
    std::string first_word;
    EXPECT_TRUE(words >> first_word) << line << " says nothing";
    if (kind == "HELP") helped = name;
    if (kind != "TYPE") continue;
    ++families;
    EXPECT_EQ(name, helped);
    EXPECT_TRUE(name.starts_with("sluice_")) << name;
    EXPECT_EQ(first_word == "counter", name.ends_with("_total")) << name;
    EXPECT_TRUE(first_word != "histogram" || name.ends_with("_seconds") || counts_things(name)) << name;
  }
  EXPECT_GE(families, 60);
}

TEST(Metrics, TellsHowLongTheCurrentTickHasBeenRunning) {
  Daemon daemon;
  daemon.clock.advance(seconds(1));  // 0 stands for no tick
  EXPECT_EQ(daemon.value("sluice_tick_age_seconds"), 0);
  daemon.stats.tick_began_ns = daemon.clock.now().time_since_epoch().count();
  daemon.clock.advance(seconds(12));
  EXPECT_EQ(daemon.value("sluice_tick_age_seconds"), 12);
  EXPECT_EQ(daemon.value("sluice_stall_timeout_seconds"), 10);
  daemon.stats.tick_began_ns = 0;
  EXPECT_EQ(daemon.value("sluice_tick_age_seconds"), 0);
}

TEST(Metrics, CountsFailedStepsAndThoseInARow) {
  Daemon daemon;
  EXPECT_EQ(daemon.value("sluice_failed_steps_total"), 0);
  EXPECT_EQ(daemon.value("sluice_failed_steps_in_a_row"), 0);
  daemon.stats.failures.note_failure("out of order");
  daemon.stats.failures.note_failure("out of order");
  EXPECT_EQ(daemon.value("sluice_failed_steps_total"), 2);
  EXPECT_EQ(daemon.value("sluice_failed_steps_in_a_row"), 2);
  daemon.stats.failures.note_success();
  EXPECT_EQ(daemon.value("sluice_failed_steps_total"), 2);
  EXPECT_EQ(daemon.value("sluice_failed_steps_in_a_row"), 0);
}

TEST(Metrics, TellsTheLimitsInForce) {
  Daemon daemon;
  daemon.stats.max_running = 48;
  daemon.stats.tpot_target_ms = 37.5;
  EXPECT_EQ(daemon.value("sluice_limit{name=\"max_running\"}"), 48);
  EXPECT_EQ(daemon.value("sluice_limit{name=\"tpot_target_ms\"}"), 37.5);
}

TEST(Metrics, StepsAreCountedByKindAndHeldAgainstTheMachine) {
  Daemon daemon({.limits = {.read_bytes_per_second = 1e9, .vector_macs_per_second = 4e9}});
  const engine::StepCosts costs{.layer_bytes = 900'000, .head_bytes = 100'000, .token_macs = 1'000'000};
  scheduler::StepPlan plan;
  plan.decode_rows = 2;
  daemon.stats.step.note(plan, 2, costs, milliseconds(2), milliseconds(1));
  EXPECT_EQ(daemon.value("sluice_step_seconds_count{kind=\"decode\"}"), 1);
  EXPECT_EQ(daemon.value("sluice_step_seconds_count{kind=\"mixed\"}"), 0);
  EXPECT_EQ(daemon.value("sluice_step_prefill_tokens_count"), 0);
  EXPECT_NEAR(daemon.value("sluice_step_predicted_ratio_sum"), 0.5, 1e-9);
  EXPECT_NEAR(daemon.value("sluice_last_step_bandwidth_utilization_ratio"), 0.5, 1e-9);
  EXPECT_NEAR(daemon.value("sluice_last_step_arithmetic_utilization_ratio"), 0.25, 1e-9);
  EXPECT_EQ(daemon.value("sluice_model_read_bytes_total"), 1e6);
  EXPECT_EQ(daemon.value("sluice_model_macs_total"), 2e6);
}

TEST(Metrics, AMachineOfUnknownLimitsHasNoSharesAndNoNan) {
  Daemon daemon;
  scheduler::StepPlan plan;
  plan.decode_rows = 1;
  daemon.stats.step.note(plan, 1, {.layer_bytes = 5}, Duration{}, Duration{});
  daemon.stats.step.note(plan, 1, {.layer_bytes = 5}, milliseconds(1), Duration{});
  EXPECT_EQ(daemon.value("sluice_last_step_bandwidth_utilization_ratio"), 0);
  EXPECT_EQ(daemon.value("sluice_step_predicted_ratio_count"), 0);
}

TEST(Metrics, LengthsAreObservedOfRequestsThatRanToTheirEnd) {
  Daemon daemon;
  const RequestEnd end{.prompt_tokens = 100, .cached_tokens = 64, .output_tokens = 7, .max_tokens = 50, .choices = 2};
  daemon.metrics.observe_request(end);
  EXPECT_EQ(daemon.value("sluice_request_prompt_tokens_sum"), 100);
  EXPECT_EQ(daemon.value("sluice_request_computed_prompt_tokens_sum"), 36);
  EXPECT_EQ(daemon.value("sluice_request_output_tokens_sum"), 7);
  EXPECT_EQ(daemon.value("sluice_request_max_tokens_sum"), 50);
  EXPECT_EQ(daemon.value("sluice_request_choices_sum"), 2);
  RequestEnd cancelled = end;
  cancelled.outcome = Outcome::kCancelled;
  daemon.metrics.observe_request(cancelled);
  EXPECT_EQ(daemon.value("sluice_request_prompt_tokens_count"), 1);
}

TEST(Metrics, TenantsHaveLabelsOfTheirOwnUpToTheLimit) {
  Daemon daemon({.tenants_max = 2});
  for (const char* const tenant : {"a", "b", "c", "d", "a"})
    daemon.metrics.observe_request({.tenant = tenant, .prompt_tokens = 10, .output_tokens = 1});
  daemon.metrics.observe_first_token("c", milliseconds(3));
  EXPECT_EQ(daemon.value("sluice_tenant_requests_total{outcome=\"stop\",tenant=\"a\"}"), 2);
  EXPECT_EQ(daemon.value("sluice_tenant_requests_total{outcome=\"stop\",tenant=\"b\"}"), 1);
  EXPECT_EQ(daemon.value("sluice_tenant_requests_total{outcome=\"stop\",tenant=\"other\"}"), 2);
  EXPECT_EQ(daemon.value("sluice_tenant_tokens_total{kind=\"prompt\",tenant=\"other\"}"), 20);
  EXPECT_EQ(daemon.value("sluice_tenant_time_to_first_token_seconds_count{tenant=\"other\"}"), 1);
  EXPECT_EQ(daemon.scrape().count("sluice_tenant_requests_total{outcome=\"stop\",tenant=\"c\"}"), 0U);
}

TEST(Metrics, NoTenantIsTheDefaultOneAndStrangeNamesStayReadable) {
  Daemon daemon;
  daemon.metrics.observe_request({.tenant = ""});
  daemon.metrics.observe_request({.tenant = "other"});
  daemon.metrics.observe_request({.tenant = "a\"\n\xff"});
  daemon.metrics.observe_request({.outcome = Outcome::kInvalid, .was_accepted = false});
  daemon.metrics.observe_request({.outcome = Outcome::kInvalid, .was_accepted = false, .tenant = "stranger"});
  EXPECT_EQ(daemon.value("sluice_tenant_requests_total{outcome=\"stop\",tenant=\"default\"}"), 1);
  EXPECT_EQ(daemon.value("sluice_tenant_requests_total{outcome=\"stop\",tenant=\"other\"}"), 1);
  EXPECT_EQ(daemon.value("sluice_tenant_requests_total{outcome=\"invalid\",tenant=\"default\"}"), 0);
  // Whoever only sends nonsense takes no label.
  EXPECT_EQ(daemon.value("sluice_tenant_requests_total{outcome=\"invalid\",tenant=\"other\"}"), 1);
  EXPECT_EQ(daemon.value("sluice_tenant_requests_total{outcome=\"stop\",tenant=\"a\\\"\\n\xef\xbf\xbd\"}"), 1);
}

TEST(Metrics, BuildInfoNamesWhatRunsWhateverTheBytes) {
  EXPECT_EQ(Daemon().value("sluice_build_info{device=\"cpu\",model=\"tiny\",version=\"1.2.3\"}"), 1);
  const scheduler::LoopStats stats;
  const std::string text =
      Metrics(stats, ManualClock(), {.version = "1", .model = "a\"b\\c\nd\xff", .device = "cpu"}).scrape();
  EXPECT_NE(text.find(R"(model="a\"b\\c\nd)"
                      "\xef\xbf\xbd\""),
            std::string::npos)
      << text;
}

TEST(Metrics, TakesObservationsAndScrapesFromManyThreads) {
  Daemon daemon;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&daemon] {
      for (int n = 0; n < 200; ++n) {
        daemon.metrics.observe_token_gap(milliseconds(1));
        daemon.metrics.observe_request(
            {.prompt_tokens = 1, .output_tokens = 1, .queue = milliseconds(1), .end_to_end = milliseconds(1)});
        if (n % 50 == 0) static_cast<void>(daemon.metrics.scrape());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(daemon.value("sluice_inter_token_latency_seconds_count"), 800);
  EXPECT_EQ(daemon.value("sluice_requests_total{outcome=\"stop\"}"), 800);
}

}  // namespace
}  // namespace sluice::server
