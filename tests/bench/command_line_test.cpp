#include "bench/command_line.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

struct Parsed {
  std::variant<CommandLine, int> result;
  std::string out;
  std::string err;
};

Parsed parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "run");
  std::ostringstream out;
  std::ostringstream err;
  auto result = parse_command_line(arguments, 0, out, err);
  return {.result = std::move(result), .out = out.str(), .err = err.str()};
}

TEST(BenchCommandLine, WrongUsageIsExitCode2AndSaysWhy) {
  const std::vector<std::vector<std::string>> wrong{
      {},
      {"--concurrency", "4"},
      {"--requests", "4"},
      {"--concurrency", "4", "--rate", "1", "--requests", "4"},
      {"--concurrency", "4", "--requests", "4", "--seconds", "1"},
      {"--concurrency", "0", "--requests", "4"},
      {"--rate", "0", "--requests", "4"},
      {"--rate", "inf", "--requests", "4"},
      {"--concurrency", "4", "--requests", "0"},
      {"--concurrency", "4", "--seconds", "0"},
      {"--concurrency", "4", "--requests", "4", "--warmup", "-1"},
      {"--concurrency", "4", "--requests", "4", "--prompt-tokens", "0"},
      {"--concurrency", "4", "--requests", "4", "--prompt-tokens", "9..8"},
      {"--concurrency", "4", "--requests", "4", "--prompt-tokens", "a..b"},
      {"--concurrency", "4", "--requests", "4", "--output-tokens", "0"},
      {"--concurrency", "4", "--requests", "4", "--no-such"}};
  for (const std::vector<std::string>& arguments : wrong) {
    const Parsed parsed = parse(arguments);
    ASSERT_TRUE(std::holds_alternative<int>(parsed.result)) << testing::PrintToString(arguments);
    EXPECT_EQ(std::get<int>(parsed.result), 2);
    EXPECT_NE(parsed.err, "");
  }
}

TEST(BenchCommandLine, TakesTheSmallestNumbersThereAre) {
  const Parsed parsed =
      parse({"--concurrency", "1", "--requests", "1", "--prompt-tokens", "1", "--output-tokens", "1", "--warmup", "0"});
  const auto* const line = std::get_if<CommandLine>(&parsed.result);
  ASSERT_NE(line, nullptr) << parsed.err;
  EXPECT_EQ(line->run.prompt_tokens.max, 1);
  EXPECT_EQ(line->run.output_tokens, 1);
}

TEST(BenchCommandLine, ReadsTheOpenLoop) {
  const Parsed parsed =
      parse({"--rate", "2.5", "--seconds", "0.5", "--prompt-tokens", "16..32", "--seed", "7", "--json", "f"});
  const auto* const line = std::get_if<CommandLine>(&parsed.result);
  ASSERT_NE(line, nullptr) << parsed.err;
  EXPECT_EQ(line->run.rate, 2.5);
  EXPECT_EQ(line->run.seconds, 0.5);
  EXPECT_EQ(line->run.prompt_tokens.min, 16);
  EXPECT_EQ(line->run.prompt_tokens.max, 32);
  EXPECT_EQ(line->run.seed, 7U);
  EXPECT_EQ(line->json_file, "f");
}

TEST(BenchCommandLine, HelpIsFine) {
  const Parsed parsed = parse({"--help"});
  EXPECT_EQ(std::get<int>(parsed.result), 0);
  EXPECT_THAT(parsed.out, testing::HasSubstr("--concurrency"));
}

}  // namespace
}  // namespace sluice::bench
