#include "bench/trace_file.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/replay_command.h"

namespace sluice::bench {
namespace {

using ::testing::HasSubstr;

constexpr const char* kLine =
    R"({"arrival":10.5,"prompt_tokens":8,"max_tokens":20,"completion_tokens":6,"cached_tokens":4,"n":2,"priority":1,)"
    R"("tenant":"a","outcome":"stop","seconds":1,"deadline_ms":500,"step_ms":{"fixed":2,"prefill_token":0.5,)"
    R"("decode_row":0.25,"context_token":0.001,"prefill_pair":0}})";

std::string with(const std::string& from, const std::string& to) {
  std::string line = kLine;
  const size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

std::string fault_of(const std::string& text) {
  const Result<Trace> trace = parse_trace(text, "t");
  return trace.ok() ? "none" : trace.status().message();
}

TEST(TraceFile, ReadsWhatADaemonWrites) {
  const Result<Trace> trace = parse_trace(std::string(kLine) + "\n\n" + with("10.5", "9.25") + "\n", "t");
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->arrivals.size(), 2U);
  EXPECT_EQ(trace->arrivals[0].at, Duration{});
  const simulation::TracedArrival& later = trace->arrivals[1];
  EXPECT_EQ(later.at, std::chrono::milliseconds(1250));
  EXPECT_EQ(later.prompt_tokens, 8);
  EXPECT_EQ(later.shared_tokens, 4);
  EXPECT_EQ(later.max_tokens, 20);
  EXPECT_EQ(later.output_tokens, 3) << "per sequence";
  EXPECT_EQ(later.sequence_count, 2);
  EXPECT_EQ(later.priority, 1);
  EXPECT_EQ(later.tenant, "a");
  EXPECT_EQ(later.deadline, std::chrono::milliseconds(500));
  EXPECT_EQ(trace->prices.fixed_ms, 2);
  EXPECT_EQ(trace->prices.context_token_ms, 0.001);
}

TEST(TraceFile, ARefusedRequestCountsWithItsCapAndAnInvalidOneNot) {
  const Result<Trace> trace = parse_trace(with("stop", "refused") + "\n" + with("stop", "invalid") + "\n", "t");
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace->arrivals.size(), 1U);
  EXPECT_EQ(trace->arrivals[0].output_tokens, 20);
}

TEST(TraceFile, SaysWhichLineAndFieldIsWrong) {
  EXPECT_EQ(fault_of("{}"), "t:1: arrival must be a number");
  EXPECT_EQ(fault_of(std::string(kLine) + "\nno"), "t:2: is not a JSON object");
  EXPECT_EQ(fault_of("[1]"), "t:1: is not a JSON object");
  EXPECT_EQ(fault_of(""), "t: holds no request");
  EXPECT_THAT(fault_of(with("\"prompt_tokens\":8", "\"prompt_tokens\":0")), HasSubstr("prompt_tokens must be from 1"));
  EXPECT_THAT(fault_of(with("\"prompt_tokens\":8", "\"prompt_tokens\":1.5")),
              HasSubstr("prompt_tokens must be a whole"));
  EXPECT_THAT(fault_of(with("\"cached_tokens\":4", "\"cached_tokens\":9")),
              HasSubstr("cached_tokens must be from 0 to 8"));
  EXPECT_THAT(fault_of(with("\"n\":2", "\"n\":65")), HasSubstr("n must be from 1 to 64"));
  EXPECT_THAT(fault_of(with("\"tenant\":\"a\"", "\"tenant\":7")), HasSubstr("tenant must be a text"));
  EXPECT_THAT(fault_of(with("\"fixed\":2", "\"fixed\":-2")), HasSubstr("fixed must be from 0"));
  EXPECT_THAT(fault_of(with("10.5", "1e999")), HasSubstr("t:1: "));
}

// What a daemon on a slow machine learns from few prompts is nowhere near the truth, and yet to be read.
TEST(TraceFile, TakesEveryPriceThatADaemonLearns) {
  for (const char* const field : {"fixed", "prefill_token", "decode_row", "context_token", "prefill_pair"}) {
    const std::string name = '"' + std::string(field) + "\":";
    std::string line = kLine;
    const size_t at = line.find(name) + name.size();
    const size_t length = line.find_first_of(",}", at) - at;
    EXPECT_EQ(fault_of(line.replace(at, length, "100000")), "none") << field;
    EXPECT_EQ(fault_of(line.replace(at, 6, "100001")), "t:1: " + std::string(field) + " must be from 0 to 100000");
  }
}

TEST(TraceFile, AFileThatIsNotThereIsNamed) {
  const Result<Trace> trace = read_trace("/no/such/trace");
  ASSERT_FALSE(trace.ok());
  EXPECT_THAT(trace.status().message(), HasSubstr("/no/such/trace"));
}

TEST(ReplayCommand, TriesAllCombinations) {
  ReplayOptions options;
  options.max_running = {8, 16};
  options.admission = {"plan", "reserve"};
  const auto configs = configurations(options);
  ASSERT_TRUE(configs.ok()) << configs.status();
  ASSERT_EQ(configs->size(), 4U);
  EXPECT_EQ(configs->at(1).scheduler.max_running, 16);
  EXPECT_EQ(configs->at(2).scheduler.admission, "reserve");
}

TEST(ReplayCommand, NamesTheLimitThatIsWrong) {
  ReplayOptions options;
  options.max_running = {0};
  EXPECT_EQ(configurations(options).status().field(), "scheduler.max_running");
  options.max_running = {8};
  options.blocks = {0};
  EXPECT_EQ(configurations(options).status().field(), "--blocks");
  std::ostringstream out;
  EXPECT_FALSE(run_replay(options, out).ok()) << "it has to be told to simulate";
}

}  // namespace
}  // namespace sluice::bench
