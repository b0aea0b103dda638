#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simulation/replay.h"

namespace sluice::simulation {
namespace {

using std::chrono::milliseconds;

constexpr int kSeconds = 120;

/// `per_second` requests of one tenant, evenly.
void add(const std::string& tenant, int per_second, std::vector<TracedArrival>& arrivals) {
  for (int i = 0; i < kSeconds * per_second; ++i) {
    arrivals.push_back({.at = milliseconds(1000) * i / per_second,
                        .prompt_tokens = 64,
                        .max_tokens = 32,
                        .output_tokens = 32,
                        .tenant = tenant});
  }
  std::stable_sort(arrivals.begin(), arrivals.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
}

/// `slowness` times the prices of a small model on two cores.
ReplayConfig machine(double slowness) {
  ReplayConfig config;
  config.scheduler.max_running = 8;
  config.block_count = 512;
  config.prices = {.fixed_ms = 2 * slowness, .prefill_token_ms = 0.22 * slowness, .decode_row_ms = 0.4 * slowness};
  return config;
}

double ttft_p99_ms(const std::vector<TracedArrival>& arrivals, const ReplayConfig& config, const std::string& tenant) {
  const ReplayReport report = replay(
      [&](uint64_t index) { return index < arrivals.size() ? std::optional(arrivals[index]) : std::nullopt; }, config);
  std::vector<double> ttft_ms;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const ReplayedRequest& request = report.requests[i];
    if (arrivals[i].tenant != tenant) continue;
    EXPECT_EQ(request.end, ReplayedRequest::End::kFinished);
    if (request.ttft) ttft_ms.push_back(to_milliseconds(*request.ttft));
  }
  std::sort(ttft_ms.begin(), ttft_ms.end());
  return ttft_ms.at(ttft_ms.size() * 99 / 100);
}

/// A quiet tenant and one at ten times his rate, who has more to do than can be done.
std::vector<TracedArrival> quiet_and_loud() {
  std::vector<TracedArrival> both;
  add("quiet", 4, both);
  add("loud", 40, both);
  return both;
}

ReplayConfig contended_machine() {
  ReplayConfig config = machine(1);
  config.scheduler.max_queued_per_tenant = 64;
  return config;
}

TEST(Fairness, AQuietTenantIsServedAsIfHalfTheMachineWereHis) {
  const double beside_ms = ttft_p99_ms(quiet_and_loud(), contended_machine(), "quiet");
  std::vector<TracedArrival> alone;
  add("quiet", 4, alone);
  ReplayConfig half = machine(2);
  half.scheduler.max_running /= 2;
  const double alone_ms = ttft_p99_ms(alone, half, "quiet");
  EXPECT_LE(beside_ms, 1.5 * alone_ms) << beside_ms << " ms beside a loud one, " << alone_ms << " ms alone";
}

TEST(Fairness, WhoWasServedAloneOwesNothingToANewcomer) {
  std::vector<TracedArrival> arrivals;
  add("old", 20, arrivals);
  for (int i = 0; i < 60; ++i) {
    arrivals.push_back({.at = milliseconds(60'000) + milliseconds(10) * i,
                        .prompt_tokens = 64,
                        .max_tokens = 32,
                        .output_tokens = 32,
                        .tenant = "new"});
  }
  std::stable_sort(arrivals.begin(), arrivals.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  EXPECT_LE(ttft_p99_ms(arrivals, machine(1), "old"), 2500) << "not as long as it had been served before";
}

}  // namespace
}  // namespace sluice::simulation
