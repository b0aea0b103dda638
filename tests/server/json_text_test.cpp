#include "server/json_text.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using ::testing::HasSubstr;

std::string problem_of(std::string_view text) {
  const Result<Json> json = parse_json(text);
  EXPECT_TRUE(json.ok() || json.status().code() == StatusCode::kInvalidArgument);
  return json.status().message();
}

std::string nested(size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(JsonText, WhatIsNotOneJsonValueIsRefusedByItsPlace) {
  EXPECT_EQ(problem_of(""), "the body is empty, but must be JSON");
  EXPECT_EQ(problem_of("{:"), "the body is not JSON at byte 2");
  for (const char* const text :
       {"{", "[1", R"({"a":1}x)", R"({"a":1,})", "nul", "'a'", "01", "+1", "\"\n\"", "// c\n1", " "})
    EXPECT_THAT(problem_of(text), HasSubstr("is not JSON at byte")) << text;
}

TEST(JsonText, BytesAndEscapesThatAreNoUtf8AreRefusedAndNotRepeated) {
  for (const char* const text : {"\"\xff\xfe\"", "\"\xc3\x28\"", "\"\xed\xa0\xbd\"", R"("\ud83d")", R"("\ud83dx")",
                                 R"("\ude00")", "\"\xc4\xe3\xba\xc3\"", "{\"\xff\":1}"}) {
    const std::string problem = problem_of(text);
    EXPECT_THAT(problem, HasSubstr("is not JSON at byte"));
    for (const char c : problem) EXPECT_TRUE(c >= ' ' && c <= '~');
  }
}

TEST(JsonText, DepthIsBoundedBeforeAnythingRecurses) {
  EXPECT_EQ(problem_of(nested(kJsonDepthMax)), "");
  EXPECT_THAT(problem_of(nested(kJsonDepthMax + 1)), HasSubstr("nested deeper than 100"));
  EXPECT_THAT(problem_of(std::string(1000000, '[')), HasSubstr("nested deeper than 100"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += R"({"a":)";
  EXPECT_THAT(problem_of(objects), HasSubstr("nested deeper than 100"));
}

TEST(JsonText, TheNumberOfValuesIsBounded) {
  const auto list = [](size_t count) {
    std::string text = "[0";
    for (size_t i = 1; i < count; ++i) text += ",0";
    return text + "]";
  };
  EXPECT_EQ(problem_of(list(kJsonValuesMax - 1)), "") << "the list is a value too";
  EXPECT_THAT(problem_of(list(kJsonValuesMax)), HasSubstr("more than 2097152 values"));
}

TEST(JsonText, AnObjectHasANameOnce) {
  EXPECT_THAT(problem_of(R"({"a":1,"b":2,"a":3})"), HasSubstr("the same name twice"));
  EXPECT_THAT(problem_of(R"([{"x":{"a":1,"\u0061":3}}])"), HasSubstr("the same name twice"));
  EXPECT_EQ(problem_of(R"({"a":{"a":1},"b":{"a":2}})"), "");
}

TEST(JsonText, NumbersStayWithinADouble) {
  EXPECT_THAT(problem_of("1e400"), HasSubstr("a number that is too large at byte"));
  EXPECT_THAT(problem_of("-1e400"), HasSubstr("a number that is too large at byte"));
  EXPECT_EQ(problem_of("1e308"), "");
  EXPECT_EQ(problem_of("18446744073709551616"), "");
}

TEST(JsonText, AByteOrderMarkIsSkipped) {
  const Result<Json> json = parse_json("\xef\xbb\xbf{\"a\":1}");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(write_json(*json), R"({"a":1})");
}

TEST(JsonText, ComesOutAsItWentIn) {
  const std::string text = R"({"z":[1,-2,0.5,true,false,null,"a\"\n\u0000é👍"],"a":{"c":{},"b":[]},"":""})";
  const Result<Json> json = parse_json(text);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(write_json(*json), text);
}

TEST(JsonText, WritesWhatIsNoUtf8WithReplacements) {
  EXPECT_EQ(write_json(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace sluice::server
