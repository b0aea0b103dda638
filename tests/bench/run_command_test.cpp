#include <atomic>
#include <csignal>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/mutex.h"
#include "bench/program.h"
#include "tests/bench/ran_program.h"
#include "tests/client/support/program.h"
#include "tests/client/support/scripted_server.h"

namespace sluice::bench {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using test_support::answer_at_once;
using test_support::EventWriter;
using test_support::Gate;
using test_support::prompt_info_event;
using test_support::Script;
using test_support::ScriptedServer;
using test_support::small_model;
using test_support::tokens_event;
using testing::HasSubstr;

/// Answers at once and remembers what was asked.
class Recorder {
 public:
  Script script() {
    return {.stream_complete =
                [this](auto&, const v1::CompleteRequest& request, EventWriter& writer) {
                  note(request);
                  const grpc::Status status = answer_at_once(request, writer);
                  --in_flight_;
                  return status;
                },
            .get_model = small_model};
  }
  std::vector<v1::CompleteRequest> requests() {
    const MutexLock lock(mutex_);
    return requests_;
  }
  int in_flight_max() const { return in_flight_max_; }

 private:
  void note(const v1::CompleteRequest& request) {
    const MutexLock lock(mutex_);
    requests_.push_back(request);
    in_flight_max_ = std::max<int>(in_flight_max_, ++in_flight_);
  }

  Mutex mutex_;
  std::vector<v1::CompleteRequest> requests_;
  std::atomic<int> in_flight_ = 0;
  std::atomic<int> in_flight_max_ = 0;
};

TEST(BenchRun, FailsWhenNobodyListens) {
  const Ran ran = run_bench("unix:/nonexistent/socket", {"--concurrency", "1", "--requests", "1"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("cannot connect to unix:/nonexistent/socket"));
  EXPECT_EQ(ran.out, "");
}

TEST(BenchRun, FailsBeforeItSendsWhenTheContextIsTooSmall) {
  Recorder recorder;
  const ScriptedServer server(recorder.script());
  const std::vector<std::string> load{"--concurrency", "1", "--requests",      "1",
                                      "--warmup",      "0", "--output-tokens", "24"};
  std::vector<std::string> fits = load;
  fits.insert(fits.end(), {"--prompt-tokens", "1000"});
  EXPECT_EQ(run_bench(server.address(), fits).exit_code, 0);
  std::vector<std::string> too_long = load;
  too_long.insert(too_long.end(), {"--prompt-tokens", "1001"});
  const Ran ran = run_bench(server.address(), too_long);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("1025"));
  EXPECT_THAT(ran.err, HasSubstr("1024"));
  EXPECT_EQ(recorder.requests().size(), 1U);
}

TEST(BenchRun, FailsWhenTheJsonFileCannotBeWritten) {
  Recorder recorder;
  const ScriptedServer server(recorder.script());
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = run_program({"run", "--address", server.address(), "--concurrency", "1", "--requests", "1",
                                     "--json", "/nonexistent/report.json"},
                                    {.out = out, .err = err}, {SteadyClock()});
  EXPECT_EQ(exit_code, 1);
  EXPECT_THAT(err.str(), HasSubstr("/nonexistent/report.json"));
  EXPECT_TRUE(recorder.requests().empty());
}

TEST(BenchRun, FailsWhenEveryRequestWasRefused) {
  const ScriptedServer server(
      {.stream_complete = [](auto&, const auto&,
                             auto&) { return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full"); },
       .get_model = small_model});
  const Ran ran = run_bench(server.address(), {"--concurrency", "2", "--requests", "10", "--output-tokens", "2"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(ran.report["requests"], 10);
  EXPECT_EQ(ran.report["errors"], 10);
  EXPECT_EQ(ran.report["errors_by_code"], json({{"RESOURCE_EXHAUSTED", 10}}));
  EXPECT_EQ(ran.report["e2e_ms"]["p50"], nullptr);
  EXPECT_EQ(ran.report["output_tokens_per_second"], 0.0);
  EXPECT_THAT(ran.out, HasSubstr("10 RESOURCE_EXHAUSTED, e.g. the queue is full"));
}

TEST(BenchRun, AnAnswerWithoutUsageIsAnError) {
  std::atomic<int> calls = 0;
  const ScriptedServer server({.stream_complete =
                                   [&](auto&, const v1::CompleteRequest& request, EventWriter& writer) {
                                     if (++calls % 2 == 0) return answer_at_once(request, writer);
                                     writer.Write(tokens_event("a", {1}));
                                     return grpc::Status::OK;
                                   },
                               .get_model = small_model});
  const Ran ran = run_bench(server.address(), {"--concurrency", "1", "--requests", "10", "--warmup", "0"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.report["errors_by_code"], json({{"INTERNAL", 5}}));
}

TEST(BenchRun, ClosedLoopSendsExactlyWhatItShouldAndMeasuresNoWarmup) {
  Recorder recorder;
  const ScriptedServer server(recorder.script());
  const Ran ran = run_bench(server.address(), {"--concurrency", "4", "--requests", "50", "--warmup", "3",
                                               "--output-tokens", "5", "--prompt-tokens", "16"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(recorder.requests().size(), 53U);
  EXPECT_LE(recorder.in_flight_max(), 4);
  EXPECT_EQ(ran.report["requests"], 50);
  EXPECT_EQ(ran.report["errors"], 0);
  EXPECT_EQ(ran.report["output_tokens"], 250);
  EXPECT_EQ(ran.report["prompt_tokens"], 800);
  EXPECT_EQ(ran.report["short_answers"], 0);
  const double seconds = ran.report["duration_s"];
  EXPECT_NEAR(ran.report["output_tokens_per_second"].get<double>(), 250 / seconds, 1e-6);
  for (const char* const latency : {"ttft_ms", "tpot_ms", "itl_ms", "e2e_ms", "slip_ms"}) {
    for (const char* const figure : {"p50", "p90", "p99", "mean", "max"})
      EXPECT_TRUE(ran.report[latency][figure].is_number()) << latency;
  }
  EXPECT_EQ(ran.report["settings"]["model"], "small");
  EXPECT_THAT(ran.out, HasSubstr("requests    50, of them 0 errors"));
  EXPECT_EQ(ran.err, "");
}

TEST(BenchRun, AsksForExactlyTheOutputWithPromptsThatShareNothing) {
  Recorder recorder;
  const ScriptedServer server(recorder.script());
  run_bench(server.address(),
            {"--concurrency", "2", "--requests", "20", "--output-tokens", "5", "--prompt-tokens", "4..8"});
  std::set<int32_t> first_ids;
  for (const v1::CompleteRequest& request : recorder.requests()) {
    EXPECT_EQ(request.stopping().max_tokens(), 5);
    EXPECT_TRUE(request.stopping().ignore_eos());
    EXPECT_EQ(request.sampling().temperature(), 0.0F);
    EXPECT_GE(request.token_ids().ids_size(), 4);
    EXPECT_LE(request.token_ids().ids_size(), 8);
    first_ids.insert(request.token_ids().ids(0));
  }
  EXPECT_EQ(first_ids.size(), 22U);
}

TEST(BenchRun, KeepsAsManyInFlightAsItShould) {
  Gate all_are_here;
  std::atomic<int> here = 0;
  const ScriptedServer server({.stream_complete =
                                   [&](auto&, const v1::CompleteRequest& request, EventWriter& writer) {
                                     if (++here == 8) all_are_here.open();
                                     all_are_here.wait();
                                     return answer_at_once(request, writer);
                                   },
                               .get_model = small_model});
  const Ran ran = run_bench(server.address(), {"--concurrency", "8", "--requests", "16", "--warmup", "0"});
  EXPECT_EQ(ran.report["requests"], 16);
}

TEST(BenchRun, SecondsEndAClosedLoop) {
  Recorder recorder;
  const ScriptedServer server(recorder.script());
  const Ran ran = run_bench(server.address(), {"--concurrency", "2", "--seconds", "0.2", "--output-tokens", "2"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_GT(ran.report["requests"], 0);
  EXPECT_GE(ran.report["duration_s"], 0.2);
}

/// Answers like answer_at_once, but the first token of the very first request takes `stall`.
Script stalls_once(std::atomic<int>& calls, Gate& never, Duration stall) {
  return {.stream_complete =
              [&calls, &never, stall](auto&, const v1::CompleteRequest& request, EventWriter& writer) {
                if (calls++ == 0) never.wait_until(SteadyClock().now() + stall);
                return answer_at_once(request, writer);
              },
          .get_model = small_model};
}

TEST(BenchRun, OpenLoopLatenciesIncludeTheWaitBehindAStalledServer) {
  std::atomic<int> calls = 0;
  Gate never;
  const ScriptedServer server(stalls_once(calls, never, milliseconds(1000)));
  // One at a time: the requests meant for the stall's time wait for its end, and their clock runs.
  const Ran ran = run_bench(server.address(), {"--rate", "100", "--requests", "20", "--in-flight-max", "1", "--warmup",
                                               "0", "--output-tokens", "2", "--seed", "3"});
  EXPECT_EQ(ran.report["requests"], 20);
  // 20 arrivals at 100 per second take about 0.2 s of the 1 s, so every one of them waits.
  EXPECT_GT(ran.report["ttft_ms"]["p50"], 500.0);
  EXPECT_GT(ran.report["e2e_ms"]["p50"], 500.0);
  EXPECT_GT(ran.report["slip_ms"]["p50"], 500.0);
}

TEST(BenchRun, OpenLoopDoesNotWaitForAnswers) {
  Gate last_is_here;
  std::atomic<int> here = 0;
  const ScriptedServer server({.stream_complete =
                                   [&](auto&, const v1::CompleteRequest& request, EventWriter& writer) {
                                     if (++here == 10) last_is_here.open();
                                     last_is_here.wait();
                                     return answer_at_once(request, writer);
                                   },
                               .get_model = small_model});
  const Ran ran =
      run_bench(server.address(), {"--rate", "200", "--requests", "10", "--warmup", "0", "--output-tokens", "2"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.report["requests"], 10);
  EXPECT_THAT(ran.out, HasSubstr("sent late"));
}

TEST(B31_Bench, MeasuresAScriptedServerOverLoopback) {
  Gate never;
  const SteadyClock clock;
  const ScriptedServer server({.stream_complete =
                                   [&](auto&, const auto&, EventWriter& writer) {
                                     const TimePoint start = clock.now();
                                     writer.Write(prompt_info_event(4));
                                     for (int i = 0; i < 3; ++i) {
                                       never.wait_until(start + milliseconds(200 + 100 * i));
                                       writer.Write(tokens_event("a", {i}));
                                     }
                                     writer.Write(test_support::finished_event(4, 3));
                                     return grpc::Status::OK;
                                   },
                               .get_model = small_model});
  const Ran ran = run_bench(server.address(), {"--concurrency", "1", "--requests", "2", "--output-tokens", "3"});
  EXPECT_EQ(ran.report["output_tokens"], 6);
  EXPECT_GE(ran.report["ttft_ms"]["p50"], 200.0);
  EXPECT_GE(ran.report["e2e_ms"]["p50"], 400.0);
  // A busy machine moves events, but the three tokens still span two gaps that lie between the first token and the end.
  const double gaps_ms = 2 * ran.report["tpot_ms"]["mean"].get<double>();
  EXPECT_GT(gaps_ms, 0.0);
  EXPECT_LE(gaps_ms, ran.report["e2e_ms"]["mean"].get<double>() - ran.report["ttft_ms"]["mean"].get<double>() + 0.001);
  EXPECT_NEAR(2 * ran.report["itl_ms"]["mean"].get<double>(), gaps_ms, 0.001);
}

TEST(BenchRun, InterruptPrintsWhatThereIs) {
  std::atomic<int> calls = 0;
  Gate fifth_is_here;
  const ScriptedServer server({.stream_complete =
                                   [&](auto&, const v1::CompleteRequest& request, EventWriter& writer) {
                                     if (calls++ < 4) return answer_at_once(request, writer);
                                     fifth_is_here.open();
                                     // answers.
                                     while (writer.Write(tokens_event("a", {1}))) {
                                     }
                                     return grpc::Status::CANCELLED;
                                   },
                               .get_model = small_model});
  test_support::Program program(SLUICE_BENCH_PROGRAM, {"run", "--address", server.address(), "--concurrency", "1",
                                                       "--requests", "100", "--warmup", "0", "--output-tokens", "2"});
  fifth_is_here.wait();
  program.send_signal(SIGINT);
  const test_support::Ended ended = program.wait();
  EXPECT_EQ(ended.exit_code, 130);
  EXPECT_THAT(ended.out, HasSubstr("requests    4, of them 0 errors"));
  EXPECT_THAT(ended.out, HasSubstr("1 cut off by the interrupt"));
}

}  // namespace
}  // namespace sluice::bench
