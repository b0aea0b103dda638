#include "engine/fitted_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using ::testing::ElementsAre;

/// One token per byte from 'a' on; the last one ends texts and begins them.
class LetterTokenizer final : public Tokenizer {
 public:
  explicit LetterTokenizer(int32_t size) : size_(size), ends_{size - 1} {
    for (int32_t id = 0; id < size; ++id) letters_.push_back(static_cast<char>('a' + id));
  }
  Result<std::vector<int32_t>> encode(std::string_view text, SpecialTokens /*special*/) const override {
    std::vector<int32_t> ids;
    for (const char c : text) {
      if (c < 'a' || c >= 'a' + size_) return invalid_argument("no letter");
      ids.push_back(c - 'a');
    }
    return ids;
  }
  Result<std::vector<int32_t>> encode(std::span<const TextRun> runs) const override {
    std::string text;
    for (const TextRun& run : runs) text += run.text;
    return encode(text, SpecialTokens::kAsText);
  }
  std::string_view token_bytes(int32_t id) const override {
    return std::string_view(letters_).substr(static_cast<size_t>(id), 1);
  }
  bool is_special(int32_t id) const override { return id == size_ - 1; }
  int32_t vocab_size() const override { return size_; }
  std::optional<int32_t> bos_id() const override { return size_ - 1; }
  bool adds_bos() const override { return true; }
  std::span<const int32_t> end_ids() const override { return ends_; }

 private:
  int32_t size_;
  std::string letters_;
  std::vector<int32_t> ends_;
};

FittedTokenizer fitted(int32_t own_size, int32_t model_size, const std::vector<int32_t>& ends) {
  return FittedTokenizer(std::make_unique<LetterTokenizer>(own_size), model_size, ends);
}

TEST(FittedTokenizer, PadsAVocabularyThatIsTooSmall) {
  const FittedTokenizer tokenizer = fitted(4, 6, {});
  EXPECT_EQ(tokenizer.vocab_size(), 6);
  EXPECT_EQ(tokenizer.token_bytes(3), "d");
  EXPECT_EQ(tokenizer.token_bytes(4), "");
  EXPECT_EQ(tokenizer.token_bytes(5), "");
  EXPECT_FALSE(tokenizer.is_special(2));
  EXPECT_TRUE(tokenizer.is_special(5));
  EXPECT_EQ(tokenizer.bos_id(), 3);
  EXPECT_TRUE(tokenizer.adds_bos());
  EXPECT_THAT(tokenizer.encode("abd", SpecialTokens::kParse).value(), ElementsAre(0, 1, 3));
  EXPECT_EQ(tokenizer.encode("abx", SpecialTokens::kParse).status().message(), "no letter");
}

TEST(FittedTokenizer, RefusesTextWithTokensThatTheModelDoesNotKnow) {
  const FittedTokenizer tokenizer = fitted(4, 3, {});
  EXPECT_EQ(tokenizer.vocab_size(), 3);
  EXPECT_THAT(tokenizer.encode("abc", SpecialTokens::kParse).value(), ElementsAre(0, 1, 2));
  const std::string refusal = "the text has the token d, which the model doesn't know";
  EXPECT_EQ(tokenizer.encode("abd", SpecialTokens::kParse).status().message(), refusal);
  const std::vector<TextRun> runs = {{"a"}, {"d"}};
  EXPECT_EQ(tokenizer.encode(runs).status().message(), refusal);
  EXPECT_EQ(tokenizer.bos_id(), std::nullopt);
  EXPECT_FALSE(tokenizer.adds_bos());
  EXPECT_TRUE(tokenizer.end_ids().empty());
}

TEST(FittedTokenizer, EndsAreThoseOfTokenizerAndModel) {
  const FittedTokenizer tokenizer = fitted(4, 6, {1, 3, 0});
  EXPECT_THAT(tokenizer.end_ids(), ElementsAre(0, 1, 3));
  EXPECT_TRUE(tokenizer.is_special(0));
  EXPECT_FALSE(tokenizer.is_special(2));
}

}  // namespace
}  // namespace sluice::engine
