#include "server/vllm_metrics.h"

#include <gtest/gtest.h>

#include "scheduler/shortage.h"
#include "tests/server/scraped_metrics.h"

namespace sluice::server {
namespace {

const std::string kLabels = "{engine=\"0\",model_name=\"tiny\"}";

TEST(VllmMetrics, HaveWhatGatewaysRead) {
  ScrapedMetrics daemon;
  daemon.stats.running = 3;
  daemon.stats.waiting = 4;
  daemon.stats.waiting_for = static_cast<int32_t>(scheduler::Shortage::kKv);
  daemon.stats.blocks_total = 100;
  daemon.stats.blocks_used = 25;
  EXPECT_EQ(daemon.value("vllm:num_requests_running" + kLabels), 3);
  EXPECT_EQ(daemon.value("vllm:num_requests_waiting" + kLabels), 4);
  EXPECT_EQ(daemon.value("vllm:kv_cache_usage_perc" + kLabels), 0.25);
  EXPECT_EQ(daemon.value("vllm:num_requests_waiting_by_reason{engine=\"0\",model_name=\"tiny\",reason=\"capacity\"}"),
            4);
  EXPECT_EQ(daemon.value("vllm:num_requests_waiting_by_reason{engine=\"0\",model_name=\"tiny\",reason=\"deferred\"}"),
            0);
  EXPECT_EQ(daemon.value("vllm:cache_config_info{block_size=\"16\",cache_dtype=\"f16\",enable_prefix_caching=\"True\","
                         "engine=\"0\",model_name=\"tiny\",num_cpu_blocks=\"0\",num_gpu_blocks=\"100\"}"),
            1);
  EXPECT_EQ(daemon.value("vllm:num_preemptions_total" + kLabels), 0);
}

TEST(VllmMetrics, AnEmptyPoolIsNotNan) {
  EXPECT_EQ(ScrapedMetrics().value("vllm:kv_cache_usage_perc" + kLabels), 0);
}

TEST(VllmMetrics, LatenciesAreOurs) {
  ScrapedMetrics daemon;
  daemon.metrics.observe_first_token("", std::chrono::milliseconds(30));
  daemon.metrics.observe_token_gap(std::chrono::milliseconds(5));
  scheduler::Ledger ledger;
  ledger.output_tokens = 2;
  ledger.prefill = std::chrono::milliseconds(10);
  ledger.decode = std::chrono::milliseconds(100);
  ledger.interference = std::chrono::milliseconds(20);
  ledger.pause = std::chrono::milliseconds(3);
  daemon.metrics.observe_ledger(ledger, {});
  EXPECT_EQ(daemon.value("vllm:time_to_first_token_seconds_sum" + kLabels), 0.03);
  EXPECT_EQ(daemon.value("vllm:inter_token_latency_seconds_count" + kLabels), 1);
  EXPECT_NEAR(daemon.value("vllm:request_decode_time_seconds_sum" + kLabels), 0.123, 1e-9);
  EXPECT_NEAR(daemon.value("vllm:request_inference_time_seconds_sum" + kLabels), 0.133, 1e-9);
  EXPECT_NEAR(daemon.value("vllm:request_prefill_time_seconds_sum" + kLabels), 0.01, 1e-9);
}

TEST(VllmMetrics, EndsAreGroupedByTheirReasons) {
  ScrapedMetrics daemon;
  for (const Outcome outcome : kOutcomes) daemon.metrics.observe_request({.outcome = outcome});
  const auto ends = [&](const std::string& reason) {
    return daemon.value("vllm:request_success_total{engine=\"0\",finished_reason=\"" + reason +
                        "\",model_name=\"tiny\"}");
  };
  EXPECT_EQ(ends("stop"), 1);
  EXPECT_EQ(ends("length"), 1);
  EXPECT_EQ(ends("abort"), 2);
  EXPECT_EQ(ends("error"), 1);
}

TEST(VllmMetrics, TokensAreCountedWhileTheyAreComputed) {
  ScrapedMetrics daemon;
  daemon.stats.prompt_tokens = 100;
  daemon.stats.cached_tokens = 40;
  daemon.stats.decode_tokens = 9;
  scheduler::StepPlan plan;
  plan.decode_rows = 3;
  plan.prefill_tokens = 60;
  daemon.stats.step.note(plan, 3, {}, std::chrono::milliseconds(1), {});
  EXPECT_EQ(daemon.value("vllm:prompt_tokens_total" + kLabels), 100);
  EXPECT_EQ(daemon.value("vllm:prompt_tokens_cached_total" + kLabels), 40);
  EXPECT_EQ(daemon.value("vllm:generation_tokens_total" + kLabels), 9);
  EXPECT_EQ(daemon.value("vllm:iteration_tokens_total_sum" + kLabels), 63);
}

TEST(VllmMetrics, CanBeLeftOut) {
  const std::string text = ScrapedMetrics({.has_vllm_names = false}).metrics.scrape();
  EXPECT_EQ(text.find("vllm:"), std::string::npos);
  EXPECT_NE(text.find("sluice_"), std::string::npos);
}

TEST(VllmMetrics, BucketsHoldThoseOfVllm) {
  const auto values = ScrapedMetrics().scrape();
  for (const char* const bound : {"0.3", "0.5", "0.8", "1",  "1.5", "2",   "2.5", "5",   "10",   "15",  "20",
                                  "30",  "40",  "50",  "60", "120", "240", "480", "960", "1920", "7680"}) {
    for (const char* const family :
         {"vllm:e2e_request_latency_seconds", "vllm:request_queue_time_seconds", "vllm:request_prefill_time_seconds",
          "vllm:request_decode_time_seconds", "vllm:request_inference_time_seconds"}) {
      const std::string series = std::string(family) + "_bucket{engine=\"0\",model_name=\"tiny\",le=\"" + bound + "\"}";
      EXPECT_EQ(values.count(series), 1U) << series;
    }
  }
}

}  // namespace
}  // namespace sluice::server
