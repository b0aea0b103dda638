#include <sstream>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/run_command.h"

namespace sluice::bench {
namespace {

struct Parsed {
  int exit_code = 0;  ///< of what is wrong, or 0
  std::string text;
  RunOptions options;
};

/// Reads a command line as `sluice-bench run` would, without running it.
Parsed parse(const std::vector<std::string>& arguments) {
  CLI::App app;
  Parsed parsed;
  add_run_options(app, parsed.options);
  std::ostringstream text;
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    const Status status = parsed.options.load.validate();
    parsed.exit_code = status.ok() ? 0 : 2;
    text << status.message();
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error, text, text) == 0 ? 0 : 2;
  }
  parsed.text = text.str();
  return parsed;
}

TEST(RunOptions, WrongUsageIsExitCode2AndSaysWhy) {
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
      {"--concurrency", "4", "--requests", "4", "--no-such"},
      {"--ramp", "1..5"},
      {"--ramp", "1..5", "--rate", "2", "--seconds", "4"},
      {"--ramp", "5", "--seconds", "4"},
      {"--steps", "2:3s", "--seconds", "4"},
      {"--steps", "2:3"},
      {"--concurrency", "4", "--requests", "4", "--constant"},
      {"--concurrency", "4", "--requests", "4", "--burstiness", "2"},
      {"--rate", "4", "--requests", "4", "--burstiness", "2", "--constant"},
      {"--rate", "4", "--requests", "4", "--burstiness", "0"},
      {"--rate", "4", "--requests", "4", "--burstiness", "1001"},
      {"--concurrency", "4", "--requests", "4", "--shared-prefix-tokens", "-1"},
      {"--concurrency", "4", "--requests", "4", "--shared-prefix-share", "1.1"},
      {"--concurrency", "4", "--requests", "4", "--shared-prefix-share", "-0.1"},
      {"--concurrency", "4", "--requests", "4", "--turns", "0"},
      {"--concurrency", "4", "--requests", "4", "--turns", "1001"},
      {"--concurrency", "4", "--requests", "4", "--think-time", "2"},
      {"--concurrency", "4", "--requests", "4", "--think-time", "61m"},
      {"--concurrency", "4", "--requests", "4", "--dataset", "f", "--shared-prefix-tokens", "1"},
      {"--concurrency", "4", "--requests", "4", "--slo", "ttft"},
      {"--concurrency", "4", "--requests", "4", "--slo-share", "0"},
      {"--concurrency", "4", "--requests", "4", "--slo-share", "1.1"},
      {"--concurrency", "4", "--requests", "4", "--slip-limit-ms", "0"},
      {"--concurrency", "4", "--requests", "4", "--endpoint", "embeddings"},
      {"--concurrency", "4", "--requests", "4", "--vocab-size", "0"},
      {"--concurrency", "4", "--requests", "4", "--in-flight-max", "0"}};
  for (const std::vector<std::string>& arguments : wrong) {
    const Parsed parsed = parse(arguments);
    EXPECT_EQ(parsed.exit_code, 2) << testing::PrintToString(arguments);
    EXPECT_NE(parsed.text, "");
  }
}

TEST(RunOptions, TakesTheSmallestNumbersThereAre) {
  const Parsed parsed =
      parse({"--concurrency", "1", "--requests", "1", "--prompt-tokens", "1", "--output-tokens", "1", "--warmup", "0"});
  ASSERT_EQ(parsed.exit_code, 0) << parsed.text;
  EXPECT_EQ(parsed.options.load.prompt_tokens.max, 1);
  EXPECT_EQ(parsed.options.load.output_tokens->max, 1);
}

TEST(RunOptions, ReadsTheOpenLoop) {
  const Parsed parsed =
      parse({"--rate", "2.5", "--seconds", "0.5", "--prompt-tokens", "16..32", "--seed", "7", "--json", "f"});
  ASSERT_EQ(parsed.exit_code, 0) << parsed.text;
  EXPECT_EQ(parsed.options.load.rate, 2.5);
  EXPECT_EQ(parsed.options.load.seconds, 0.5);
  EXPECT_EQ(parsed.options.load.prompt_tokens.min, 16);
  EXPECT_EQ(parsed.options.load.prompt_tokens.max, 32);
  EXPECT_EQ(parsed.options.load.seed, 7U);
  EXPECT_EQ(parsed.options.outputs.json_path, "f");
}

TEST(RunOptions, TakesEachLimitItself) {
  const Parsed parsed = parse({"--rate", "4", "--requests", "4", "--burstiness", "1000", "--shared-prefix-share", "1",
                               "--turns", "1000", "--think-time", "60m", "--slo-share", "1", "--in-flight-max", "1"});
  EXPECT_EQ(parsed.exit_code, 0) << parsed.text;
}

TEST(RunOptions, ReadsEveryKindOfLoad) {
  EXPECT_EQ(parse({"--ramp", "1..5", "--seconds", "4"}).options.load.ramp->end, 5);
  EXPECT_EQ(parse({"--steps", "2:3s,4:1s"}).options.load.steps.size(), 2U);
  EXPECT_EQ(parse({"--steps", "2:3s,4:1s"}).exit_code, 0);
  EXPECT_EQ(parse({"--steps", "2:3s", "--requests", "4"}).exit_code, 0);
  EXPECT_TRUE(parse({"--rate", "2", "--constant", "--requests", "4"}).options.load.has_constant_gaps);
  const Parsed dataset = parse({"--concurrency", "2", "--requests", "4", "--dataset", "f", "--turns", "3",
                                "--think-time", "0", "--obey-end-tokens", "--slo", "ttft=1s"});
  EXPECT_EQ(dataset.exit_code, 0) << dataset.text;
  EXPECT_EQ(dataset.options.load.dataset_path, "f");
  EXPECT_EQ(dataset.options.load.turns, 3);
  EXPECT_FALSE(dataset.options.load.ignores_end_tokens);
  EXPECT_EQ(dataset.options.load.slo.ttft, std::chrono::seconds(1));
}

TEST(RunOptions, HelpIsFine) {
  const Parsed parsed = parse({"--help"});
  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_THAT(parsed.text, testing::HasSubstr("--concurrency"));
}

}  // namespace
}  // namespace sluice::bench
