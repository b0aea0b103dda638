#include "bench/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using testing::HasSubstr;

const char* const kOne = R"({"conversations":[{"from":"human","value":"Hi \"}],[{"},{"from":"gpt","value":"Hello"}]})";

std::string message_of(const std::string& text) {
  const auto result = parse_dataset(text, "f.json");
  EXPECT_FALSE(result.ok()) << text;
  return result.status().message();
}

TEST(Dataset, SaysWhichLineIsWrongAndWhy) {
  EXPECT_THAT(message_of(std::string(kOne) + "\n\n[1]\n"), HasSubstr("f.json:3: is not a JSON object"));
  EXPECT_THAT(message_of("{}"), HasSubstr("f.json:1: has no array \"conversations\""));
  EXPECT_THAT(message_of(R"({"conversations":[5]})"),
              HasSubstr("f.json:1: an entry of \"conversations\" is not an object"));
  EXPECT_THAT(message_of(R"({"conversations":[{"from":"human"}]})"), HasSubstr("no text in \"value\""));
  EXPECT_THAT(message_of(std::string(kOne) + "\n{\"conversations\":"), HasSubstr("f.json:2: is not a JSON object"));
}

TEST(Dataset, SaysWhichLineOfAnArrayIsWrong) {
  const std::string begin = "[\n" + std::string(kOne) + ",\n";
  EXPECT_THAT(message_of(begin + "{\"a\":\n1}\n]"), HasSubstr("f.json:3: has no array"));
  EXPECT_THAT(message_of(begin + kOne), HasSubstr("f.json:3: the array does not end"));
  EXPECT_THAT(message_of("[" + std::string(kOne) + "] x"), HasSubstr("f.json:1: the array does not end, or something"));
  EXPECT_THAT(message_of("["), HasSubstr("f.json:1"));
}

TEST(Dataset, AFileWithoutAConversationIsNoDataset) {
  EXPECT_THAT(message_of(""), HasSubstr("f.json: holds no conversation"));
  EXPECT_THAT(message_of("[]"), HasSubstr("f.json: holds no conversation"));
  EXPECT_THAT(message_of(R"({"conversations":[{"from":"gpt","value":"a"},{"from":"human","value":"b"}]})"),
              HasSubstr("holds no conversation"));
}

TEST(Dataset, AFileThatIsNotThereIsNamed) {
  EXPECT_THAT(read_dataset("/nonexistent/f.json").status().message(), HasSubstr("/nonexistent/f.json"));
}

TEST(Dataset, LinesAndAnArrayAreTheSame) {
  const auto lines = parse_dataset(std::string(kOne) + "\r\n\n" + kOne, "f");
  const auto array = parse_dataset(" [" + std::string(kOne) + " ,\n" + kOne + "]\n", "f");
  for (const auto* const dataset : {&lines, &array}) {
    ASSERT_TRUE(dataset->ok()) << dataset->status();
    ASSERT_EQ((*dataset)->size(), 2U);
    EXPECT_EQ((**dataset)[1].turns[0].prompt, "Hi \"}],[{");
    EXPECT_EQ((**dataset)[1].turns[0].answer, "Hello");
  }
}

TEST(Dataset, TurnsAreAPersonsTextAndTheAnswerToIt) {
  const auto dataset = parse_dataset(
      R"({"id":1,"conversations":[{"from":"system","value":"s"},{"from":"gpt","value":"first"},{"from":"user","value":"a"},)"
      R"({"from":"assistant","value":"b"},{"from":"human","value":"c"},{"from":"bard","value":"d"},{"from":"human","value":"e"}]})",
      "f");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ((*dataset)[0].turns.size(), 2U);
  EXPECT_EQ((*dataset)[0].turns[1].prompt, "c");
  EXPECT_EQ((*dataset)[0].turns[1].answer, "d");
}

TEST(Dataset, FourBytesAreATokenAndNothingIsOne) {
  EXPECT_EQ(estimate_tokens(""), 1);
  EXPECT_EQ(estimate_tokens("abcd"), 1);
  EXPECT_EQ(estimate_tokens("abcde"), 2);
}

}  // namespace
}  // namespace sluice::bench
