#include "engine/json_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/engine/gguf_builder.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view text) {
  const auto document = parse_json(text);
  EXPECT_FALSE(document.ok()) << text;
  return document.status().message();
}

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']');
}

std::string nested_objects(int depth) {
  std::string text;
  for (int level = 0; level < depth; ++level) text += "{\"a\":";
  return text + "1" + std::string(static_cast<size_t>(depth), '}');
}

TEST(JsonFile, NamesTheFileAndWhatIsWrong) {
  const TemporaryFile file(ByteWriter().raw("{").bytes(), ".json");
  EXPECT_EQ(read_json_file(file.path(), 100).status().message(), file.path() + ": it is not valid JSON in UTF-8");
  EXPECT_EQ(read_json_file("/nonexistent/x.json", 100).status().code(), StatusCode::kNotFound);
}

TEST(JsonFile, ReadsNoMoreThanItsLimit) {
  const TemporaryFile file(ByteWriter().raw("[1, 2]").bytes(), ".json");
  EXPECT_EQ(read_json_file(file.path(), 6).value(), nlohmann::json::parse("[1, 2]"));
  EXPECT_THAT(read_json_file(file.path(), 5).status().message(), HasSubstr("6 bytes, more than the 5"));
}

TEST(JsonFile, RefusesAMemberThatIsNamedTwice) {
  EXPECT_THAT(error_of(R"({"a": 1, "b": {"c": 1}, "a": 2})"), HasSubstr("the member \"a\" twice"));
  EXPECT_THAT(error_of(R"([{"x": {"c": 1, "c": 1}}])"), HasSubstr("the member \"c\" twice"));
  EXPECT_TRUE(parse_json(R"({"a": {"c": 1}, "b": {"c": 1, "a": [{"c": 1}, {"c": 2}]}})").ok());
}

TEST(JsonFile, RefusesDeepNesting) {
  EXPECT_TRUE(parse_json(nested(kJsonDepthMax)).ok());
  EXPECT_THAT(error_of(nested(kJsonDepthMax + 1)), HasSubstr("nests deeper than 32 levels"));
  EXPECT_FALSE(error_of(std::string(1'000'000, '[')).empty());
}

TEST(JsonFile, RefusesDeepObjectsThatNameMembersBeyondItsLimit) {
  EXPECT_TRUE(parse_json(nested_objects(kJsonDepthMax)).ok());
  EXPECT_THAT(error_of(nested_objects(kJsonDepthMax + 1)), HasSubstr("nests deeper than 32 levels"));
  EXPECT_THAT(error_of(nested_objects(1000)), HasSubstr("nests deeper than 32 levels"));
}

TEST(JsonFile, RefusesWhatIsNotJson) {
  for (const std::string_view text : {"", "{", "nul", "[1,]", "{\"a\": 1} x", "\"\xff\"", "1e999", "NaN"})
    error_of(text);
}

}  // namespace
}  // namespace sluice::engine
