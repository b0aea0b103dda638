#include "bench/load_runner.h"

#include <optional>

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "bench/target_options.h"
#include "tests/bench/scripted_http_server.h"
#include "tests/client/support/scripted_server.h"

namespace sluice::bench {
namespace {

using test_support::EventWriter;
using test_support::ScriptedServer;

RunConfig load_of(int64_t requests) {
  RunConfig load;
  load.concurrency = 2;
  load.requests = requests;
  load.warmup = 1;
  load.output_tokens = LengthDistribution::fixed(2);
  return load;
}

/// A clock, and a processor with two cores whose use follows it: this share of the time since its first reading.
class FollowingCpu final : public Clock {
 public:
  explicit FollowingCpu(double share) : share_(share) {}

  TimePoint now() const override {
    const MutexLock lock(mutex_);
    last_ = clock_.now();
    if (is_read_ && !first_) first_ = last_;
    return last_;
  }
  /// By what the clock said last: other processes may have the core between two readings.
  ClientCpu cpu() {
    return {.used =
                [this] {
                  const MutexLock lock(mutex_);
                  is_read_ = true;
                  const Duration since = first_ ? last_ - *first_ : Duration::zero();
                  return std::chrono::duration_cast<Duration>(2 * share_ * since);
                },
            .cores = 2};
  }

 private:
  const double share_;
  const SteadyClock clock_;
  mutable Mutex mutex_;
  mutable std::optional<TimePoint> first_;
  mutable TimePoint last_;
  bool is_read_ = false;
};

class LoadRunnerTest : public testing::Test {
 protected:
  std::unique_ptr<Target> open(const ScriptedServer& server) {
    TargetConfig config;
    config.address = server.address();
    auto target = open_target(config, cancellation_);
    EXPECT_TRUE(target.ok()) << target.status();
    return std::move(target).value();
  }

  const SteadyClock clock_;
  client::Cancellation cancellation_;
};

TEST_F(LoadRunnerTest, MeasuresOneLoadAfterTheOtherOnOneConnection) {
  const ScriptedServer server(
      {.stream_complete = [](auto&, const auto& request,
                             EventWriter& writer) { return test_support::answer_at_once(request, writer); },
       .get_model = test_support::small_model});
  const std::unique_ptr<Target> target = open(server);
  LoadRunner runner(clock_);
  for (const int64_t requests : {4, 7}) {
    int begun = 0;
    int64_t outcomes = 0;
    const Result<Report> report =
        runner.measure(load_of(requests), *target,
                       {.on_begin = [&] { ++begun; }, .on_outcome = [&](const RequestOutcome&) { ++outcomes; }});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->requests, requests);
    EXPECT_EQ(outcomes, requests);  // and none of the warm-up
    EXPECT_EQ(begun, 1);
  }
}

TEST_F(LoadRunnerTest, AMeasurementThatIsEndedEarlyCountsNothingThatWasCutOff) {
  const ScriptedServer server({.stream_complete =
                                   [](auto&, const auto& request, EventWriter& writer) {
                                     if (request.stopping().max_tokens() == 2)
                                       return test_support::answer_at_once(request, writer);
                                     while (writer.Write(test_support::tokens_event("a", {1}))) {
                                     }
                                     return grpc::Status::CANCELLED;
                                   },
                               .get_model = test_support::small_model});
  const std::unique_ptr<Target> target = open(server);
  LoadRunner runner(clock_);
  RunConfig endless = load_of(100);
  endless.warmup = 0;
  endless.output_tokens = LengthDistribution::fixed(3);
  const Result<Report> ended = runner.measure(endless, *target, {.on_tick = [](const Progress&) { return false; }});
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->interrupted, 2);
  EXPECT_EQ(ended->requests, 0);
  EXPECT_FALSE(runner.stopped());
  const Result<Report> next = runner.measure(load_of(4), *target);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->requests, 4);
}

TEST_F(LoadRunnerTest, StreamsOverHttpAreCutOffToo) {
  const ScriptedHttpServer server([this](const HttpAsked&, HttpWire& wire) {
    wire.begin_stream();
    wire.event(R"({"choices":[{"text":"a"}]})");
    wire.wait_until(clock_.now() + std::chrono::hours(1));
  });
  TargetConfig config;
  config.address = server.url();
  const auto target = open_target(config, cancellation_);
  ASSERT_TRUE(target.ok()) << target.status();
  LoadRunner runner(clock_);
  RunConfig endless = load_of(100);
  endless.warmup = 0;
  const Result<Report> ended = runner.measure(endless, **target, {.on_tick = [](const Progress&) { return false; }});
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->interrupted, 2);
  EXPECT_EQ(ended->errors, 0);
}

TEST_F(LoadRunnerTest, AFullProcessorIsTheClientsLimit) {
  const ScriptedServer server(
      {.stream_complete = [](auto&, const auto& request,
                             EventWriter& writer) { return test_support::answer_at_once(request, writer); },
       .get_model = test_support::small_model});
  const std::unique_ptr<Target> target = open(server);
  for (const double share : {0.85, 0.95}) {
    FollowingCpu clock(share);
    LoadRunner runner(clock, clock.cpu());
    RunConfig load = load_of(1);
    load.slip_limit_ms = 1e6;
    const Result<Report> report = runner.measure(load, *target);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_NEAR(report->client.cpu_share, share, 0.02);
    EXPECT_EQ(report->client.limited_because.empty(), share < 0.9) << report->client.limited_because;
  }
}

}  // namespace
}  // namespace sluice::bench
