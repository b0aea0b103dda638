#include "cli/text_input.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/text_lines.h"

namespace sluice::cli {
namespace {

using Ids = std::vector<int32_t>;

TEST(ParseIds, RefusesWhatIsNoId) {
  for (const char* const text : {"1 x 2", "1.5", "2147483648", "0x10", "1;2", "+1"}) {
    EXPECT_EQ(parse_ids(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseIds, ReadsBlanksCommasAndBrackets) {
  EXPECT_EQ(*parse_ids("1 2 3"), (Ids{1, 2, 3}));
  EXPECT_EQ(*parse_ids("1,2,3\n"), (Ids{1, 2, 3}));
  EXPECT_EQ(*parse_ids("[1, 2,\t3]"), (Ids{1, 2, 3}));
  EXPECT_EQ(*parse_ids("-1 2147483647"), (Ids{-1, 2147483647}));
  EXPECT_EQ(*parse_ids(" "), Ids{});
}

TEST(CheckUtf8, RefusesBrokenText) {
  for (const char* const text : {"\xff\xfe", "\xc3\x28", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "abc\xe4"}) {
    EXPECT_FALSE(check_utf8(text, "the text").ok());
  }
  EXPECT_TRUE(check_utf8("Zürich, 東京, \xf4\x8f\xbf\xbf", "the text").ok());
  EXPECT_TRUE(check_utf8(std::string_view("\0", 1), "the text").ok());
}

TEST(ParseLogitBias, RefusesAnythingButIdAndBias) {
  for (const char* const text : {"", "5", "5:", ":5", "5:x", "x:5", "5:1:2"}) {
    EXPECT_FALSE(parse_logit_bias(text).ok()) << text;
  }
  EXPECT_EQ(parse_logit_bias("787:-100.5")->id, 787);
  EXPECT_EQ(parse_logit_bias("787:-100.5")->bias, -100.5F);
}

Result<Ids> length_of(const std::string& text) {
  return Ids{static_cast<int32_t>(text.size())};
}

TEST(AnswerLines, NamesTheBadLineAndKeepsTheAnswersBefore) {
  for (const char* const bad : {"x", "[1]", "{}", "{\"text\":1}", "{\"text\":\"\\ud800\"}", "{\"text\":\"\xff\"}"}) {
    std::istringstream in("{\"text\":\"ab\"}\n\n" + std::string(bad) + "\n{\"text\":\"c\"}\n");
    std::ostringstream out;
    const Status status = answer_lines(in, out, length_of);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_TRUE(status.message().starts_with("line 3: ")) << status;
    EXPECT_EQ(out.str(), "{\"ids\":[2]}\n");
  }
}

TEST(AnswerLines, AnswersEachLine) {
  std::istringstream in("{\"text\":\"\"}\n{\"text\":\"a\\u00e4\",\"other\":1}");
  std::ostringstream out;
  EXPECT_TRUE(answer_lines(in, out, length_of).ok());
  EXPECT_EQ(out.str(), "{\"ids\":[0]}\n{\"ids\":[3]}\n");
}

}  // namespace
}  // namespace sluice::cli
