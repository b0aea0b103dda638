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
      {"--concurrency", "4", "--requests", "4", "--no-such"}};
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
  EXPECT_EQ(parsed.options.load.output_tokens, 1);
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
  EXPECT_EQ(parsed.options.json_file, "f");
}

TEST(RunOptions, HelpIsFine) {
  const Parsed parsed = parse({"--help"});
  EXPECT_EQ(parsed.exit_code, 0);
  EXPECT_THAT(parsed.text, testing::HasSubstr("--concurrency"));
}

}  // namespace
}  // namespace sluice::bench
