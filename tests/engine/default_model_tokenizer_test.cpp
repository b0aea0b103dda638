// The tokenizer of the default model; these tests read that model's file.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/tokenizer_data.h"
#include "tests/engine/tokenizer_fixture.h"

namespace sluice::engine {
namespace {

using Ids = std::vector<int32_t>;

class B05_Tokenizer : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(tokenizer_, nullptr); }
  const std::unique_ptr<Tokenizer> tokenizer_ = default_model_tokenizer();
};

TEST_F(B05_Tokenizer, GivesTheIdsOfTheModelsOwnTokenizerAndBack) {
  const std::vector<std::pair<std::string, Ids>> cases = {
      {"a  b", {81, 216, 278}},
      {"a   b", {81, 256, 278}},
      {"   42", {333, 36, 34}},
      {"in 2024", {254, 216, 34, 32, 34, 36}},
      {"12345", {33, 34, 35, 36, 37}},
      {"x2y", {104, 34, 105}},
      {" Hello", {38699}},
      {"  Hello", {216, 38699}},
      {"trailing   ", {4861, 4966, 333}},
      {"\n\n\n x", {16506, 1792}},
      {"x \n y", {104, 3717, 329}},
      {"def f():\n    return  x", {1604, 275, 3734, 472, 1003, 216, 1792}},
      {"I'll", {57, 3060}},
      {"DON'T", {52, 2154, 23, 68}},
      {"👍", {10813, 235, 231}},
      {"é", {2756}},
      {"->", {22690}},
      {"(x):\n", {24, 104, 727, 198}},
      {"__init__", {890, 2563, 890}},
  };
  for (const auto& [text, ids] : cases) {
    EXPECT_EQ(encode(*tokenizer_, text), ids) << text;
    EXPECT_EQ(decode(*tokenizer_, ids), text);
  }
}

TEST_F(B05_Tokenizer, GivesTheReferenceIdsExactly) {
  const nlohmann::json cases = read_tokenizer_data("smollm2_tokens.json");
  ASSERT_EQ(cases.size(), 340U);
  for (const auto& entry : cases) {
    const auto text = entry.at("text").get<std::string>();
    const auto ids = entry.at("ids").get<Ids>();
    EXPECT_EQ(encode(*tokenizer_, text), ids) << entry.at("text");
    EXPECT_EQ(decode(*tokenizer_, ids), text);
  }
}

TEST_F(B05_Tokenizer, KnowsTheModelsSpecialTokens) {
  EXPECT_EQ(tokenizer_->vocab_size(), 49152);
  EXPECT_EQ(tokenizer_->bos_id(), 1);
  EXPECT_FALSE(tokenizer_->adds_bos());
  EXPECT_EQ(Ids(tokenizer_->end_ids().begin(), tokenizer_->end_ids().end()), (Ids{0, 2}));
  EXPECT_TRUE(tokenizer_->is_special(16));
  EXPECT_FALSE(tokenizer_->is_special(17));
  EXPECT_EQ(tokenizer_->token_bytes(2), "<|im_end|>");
  EXPECT_EQ(tokenizer_->token_bytes(10813), "\xF0\x9F");
}

TEST_F(B05_Tokenizer, ParsesNamesOfSpecialTokensOnlyWhenAsked) {
  EXPECT_EQ(encode(*tokenizer_, "A<|im_end|>B", SpecialTokens::kAsText), (Ids{49, 44, 108, 306, 79, 486, 108, 46, 50}));
  EXPECT_EQ(encode(*tokenizer_, "A<|im_end|>B", SpecialTokens::kParse), (Ids{49, 2, 50}));
}

TEST_F(B05_Tokenizer, LeavesOutBytesThatHaveNoToken) {
  EXPECT_EQ(encode(*tokenizer_, "\x04"), Ids{});
  EXPECT_EQ(encode(*tokenizer_, "a\x04"), (Ids{81}));
  EXPECT_EQ(encode(*tokenizer_, std::string_view("\0", 1)), (Ids{190}));
}

using B07_TokenizerDos = B05_Tokenizer;

TEST_F(B07_TokenizerDos, GivesTheRightIdsForRuns) {
  EXPECT_EQ(encode(*tokenizer_, repeated("A", 64)), Ids(8, 44843));
  EXPECT_EQ(encode(*tokenizer_, repeated(" ", 64)), (Ids{40686}));
  EXPECT_EQ(encode(*tokenizer_, repeated(" ", 100)), (Ids{40686, 12427, 289}));
  EXPECT_EQ(encode(*tokenizer_, repeated(".", 64)), Ids(4, 26315));
}

double seconds_to_encode(const Tokenizer& tokenizer, const std::string& text) {
  const double begin = processor_seconds();
  const Ids ids = encode(tokenizer, text);
  const double seconds = processor_seconds() - begin;
  EXPECT_EQ(decode(tokenizer, ids), text);
  return seconds;
}

TEST_F(B07_TokenizerDos, TakesNearlyLinearTimeOnLongWords) {
  for (const std::string_view unit : {"A", " ", ".", "\n", "1", "中"}) {
    const double small = seconds_to_encode(*tokenizer_, repeated(unit, 20'000));
    const double large = seconds_to_encode(*tokenizer_, repeated(unit, 200'000));
    EXPECT_LT(large, 40 * small + 0.1) << unit;
    EXPECT_LT(large, 60) << unit;  // a release build takes well under 0.2 s, sanitizers up to 2 s
  }
}

}  // namespace
}  // namespace sluice::engine
