#include "server/request_trace.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

class RequestTraceTest : public ::testing::Test {
 protected:
  ~RequestTraceTest() override { std::filesystem::remove(path_); }

  std::unique_ptr<RequestTrace> open() {
    const auto wall_clock = [] { return std::chrono::system_clock::time_point(std::chrono::seconds(1000)); };
    auto trace = RequestTrace::open(path_, wall_clock);
    EXPECT_TRUE(trace.ok()) << trace.status();
    return std::move(trace).value();
  }
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> read;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) read.push_back(nlohmann::json::parse(line));
    return read;
  }

  // Tests run side by side, each in a process of its own.
  const std::string path_ =
      (std::filesystem::path(::testing::TempDir()) /
       (std::string("request_trace_") + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl"))
          .string();
};

TEST_F(RequestTraceTest, SaysWhenARequestCameAndHowLongEverythingWas) {
  RequestRecord record;
  record.ended = record.timing.arrival + std::chrono::milliseconds(1500);
  record.until_deadline = std::chrono::seconds(3);
  record.usage = {.prompt_tokens = 7, .completion_tokens = 5, .cached_tokens = 4};
  record.max_tokens = 9;
  record.choice_count = 2;
  record.priority = -1;
  record.tenant = "some\"one";
  record.outcome = Outcome::kLength;
  open()->note(record);
  ASSERT_EQ(lines().size(), 1U);
  const nlohmann::json line = lines().front();
  EXPECT_DOUBLE_EQ(line["arrival"], 998.5);
  EXPECT_DOUBLE_EQ(line["seconds"], 1.5);
  EXPECT_DOUBLE_EQ(line["deadline_ms"], 3000);
  EXPECT_EQ(line["prompt_tokens"], 7);
  EXPECT_EQ(line["cached_tokens"], 4);
  EXPECT_EQ(line["max_tokens"], 9);
  EXPECT_EQ(line["completion_tokens"], 5);
  EXPECT_EQ(line["n"], 2);
  EXPECT_EQ(line["priority"], -1);
  EXPECT_EQ(line["tenant"], "some\"one");
  EXPECT_EQ(line["outcome"], "length");
  EXPECT_FALSE(line.contains("step_ms"));
}

TEST_F(RequestTraceTest, AppendsAndSaysWhatStepsCost) {
  open()->note({});
  const auto trace = open();
  scheduler::LoopStats stats;
  stats.step_prices.fixed_ms = 2.5;
  trace->watch(stats);
  trace->note({});
  ASSERT_EQ(lines().size(), 2U);
  EXPECT_DOUBLE_EQ(lines()[1]["step_ms"]["fixed"], 2.5);
  EXPECT_FALSE(lines()[1].contains("deadline_ms"));
}

TEST_F(RequestTraceTest, APathThatCannotBeWrittenIsNamed) {
  const auto trace =
      RequestTrace::open("/no/such/folder/trace", [] { return std::chrono::system_clock::time_point(); });
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.status().field(), "log.trace_path");
}

}  // namespace
}  // namespace sluice::server
