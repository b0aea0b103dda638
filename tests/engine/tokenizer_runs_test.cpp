#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "tests/engine/tokenizer_fixture.h"

namespace sluice::engine {
namespace {

using Ids = std::vector<int32_t>;
using Runs = std::vector<TextRun>;

TextRun own(std::string_view text) {
  return {.text = std::string(text), .special = SpecialTokens::kParse};
}
TextRun sent(std::string_view text) {
  return {.text = std::string(text), .special = SpecialTokens::kAsText};
}

Ids encode_runs(const Tokenizer& tokenizer, const Runs& runs) {
  const Result<Ids> ids = tokenizer.encode(runs);
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.ok() ? *ids : Ids{};
}

/// Ids are bytes, but for the tokens that are added here.
class TokenizerRuns : public ::testing::Test {
 protected:
  void SetUp() override {
    VocabularyFile file("gpt-2");
    end_ = file.add("<|end|>", kControl);
    ending_ = file.add("<|end|>ing", kControl);
    added_ = file.add("<added>", kUserDefined);
    ab_ = file.merge("a", "b");
    tokenizer_ = tokenizer_of(file);
    ASSERT_NE(tokenizer_, nullptr);
  }
  Ids bytes(std::string_view text) const { return {text.begin(), text.end()}; }

  int32_t end_ = 0;
  int32_t ending_ = 0;
  int32_t added_ = 0;
  int32_t ab_ = 0;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(TokenizerRuns, OneRunIsTheTextAlone) {
  for (const std::string text : {"", "x<|end|>y", "<added>", "ab"}) {
    EXPECT_EQ(encode_runs(*tokenizer_, {sent(text)}), encode(*tokenizer_, text, SpecialTokens::kAsText)) << text;
    EXPECT_EQ(encode_runs(*tokenizer_, {own(text)}), encode(*tokenizer_, text, SpecialTokens::kParse)) << text;
  }
  EXPECT_EQ(encode_runs(*tokenizer_, {}), Ids{});
}

TEST_F(TokenizerRuns, ANameCountsOnlyWhereAllItsBytesMay) {
  EXPECT_EQ(encode_runs(*tokenizer_, {own("<|end|>")}), (Ids{end_}));
  EXPECT_EQ(encode_runs(*tokenizer_, {own("<|e"), own("nd|>")}), (Ids{end_}));
  EXPECT_EQ(encode_runs(*tokenizer_, {sent("x"), own("<|end|>"), sent("y")}), (Ids{'x', end_, 'y'}));
  EXPECT_EQ(encode_runs(*tokenizer_, {own("<|end|>"), sent("<|end|>"), own("<|end|>")}).size(), 9U);
}

TEST_F(TokenizerRuns, ANameCantBeCompletedAcrossABorder) {
  const std::string name = "<|end|>";
  for (size_t cut = 1; cut < name.size(); ++cut) {
    const std::string front = name.substr(0, cut);
    const std::string back = name.substr(cut);
    EXPECT_EQ(encode_runs(*tokenizer_, {own(front), sent(back)}), bytes(name)) << cut;
    EXPECT_EQ(encode_runs(*tokenizer_, {sent(front), own(back)}), bytes(name)) << cut;
    EXPECT_EQ(encode_runs(*tokenizer_, {own(front), sent(""), own(back)}), (Ids{end_})) << cut;
  }
}

TEST_F(TokenizerRuns, OfNamesThatBeginTogetherTheLongestAllowedOneCounts) {
  EXPECT_EQ(encode_runs(*tokenizer_, {own("<|end|>ing")}), (Ids{ending_}));
  EXPECT_EQ(encode_runs(*tokenizer_, {own("<|end|>"), sent("ing")}), (Ids{end_, 'i', 'n', 'g'}));
}

TEST_F(TokenizerRuns, AddedTokensThatAreNotSpecialCountAnywhere) {
  EXPECT_EQ(encode_runs(*tokenizer_, {sent("<added>")}), (Ids{added_}));
  EXPECT_EQ(encode_runs(*tokenizer_, {own("<ad"), sent("ded>")}), (Ids{added_}));
}

TEST_F(TokenizerRuns, WordsAndMergesDontSeeTheBorders) {
  EXPECT_EQ(encode_runs(*tokenizer_, {own("a"), sent("b")}), (Ids{ab_}));
  EXPECT_EQ(encode_runs(*tokenizer_, {own("\xC3"), sent("\xA9")}), encode(*tokenizer_, "é"));
  EXPECT_FALSE(tokenizer_->encode(Runs{own("\xC3"), sent("b")}).ok());
}

TEST_F(TokenizerRuns, GiveTheIdsOfTheWholeTextHoweverItIsCut) {
  const std::string text = "ab<|end|>ab<added>é<|end|>ing\n";
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for (const SpecialTokens special : {SpecialTokens::kParse, SpecialTokens::kAsText}) {
      Runs runs;
      for (size_t begin = 0; begin < text.size();) {
        const size_t size = 1 + random_bits(seed, begin) % 6;
        runs.push_back({.text = text.substr(begin, size), .special = special});
        begin += size;
      }
      EXPECT_EQ(encode_runs(*tokenizer_, runs), encode(*tokenizer_, text, special)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace sluice::engine
