// Each template of tests/data/jinja against what Jinja2 makes of it.

#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/jinja/render.h"

namespace sluice::jinja {
namespace {

nlohmann::ordered_json read_expected() {
  std::ifstream in(SLUICE_SOURCE_DIR "/tests/data/jinja/expected.json");
  EXPECT_TRUE(in.good()) << "expected.json is missing";
  return nlohmann::ordered_json::parse(in);
}

class Jinja2 : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};

TEST_F(Jinja2, GivesTheSameTextForEachTemplateAndFailsWhereItFails) {
  const nlohmann::ordered_json expected = read_expected();
  ASSERT_GT(expected.at("cases").size(), 270U);
  ASSERT_EQ(expected.at("now"), kNowSeconds);
  const std::string variables = expected.at("variables").dump();
  for (const auto& entry : expected.at("cases")) {
    const auto source = entry.at("template").get<std::string>();
    const Result<Text> text = render(source, variables);
    if (entry.contains("text")) {
      EXPECT_TRUE(text.ok()) << source << ": " << text.status();
      EXPECT_EQ(text.ok() ? text->bytes() : "", entry.at("text").get<std::string>()) << source;
    } else if (entry.contains("raised")) {
      EXPECT_EQ(text.status(), invalid_argument(entry.at("raised").get<std::string>())) << source;
    } else {
      EXPECT_FALSE(text.ok()) << source << " gives " << (text.ok() ? text->bytes() : "") << ", Jinja2 "
                              << entry.at("failed");
      EXPECT_TRUE(text.status().message().starts_with("line ")) << text.status();
    }
  }
}

}  // namespace
}  // namespace sluice::jinja
