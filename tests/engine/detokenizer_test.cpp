#include "engine/detokenizer.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "tests/engine/tokenizer_fixture.h"

namespace sluice::engine {
namespace {

constexpr std::string_view kThumb = "\xF0\x9F\x91\x8D";  // U+1F44D
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

TEST(B01_Utf8Stream, a_GivesAnEmojiOnlyWhenItIsWhole) {
  const auto tokenizer = default_model_tokenizer();
  ASSERT_NE(tokenizer, nullptr);
  Detokenizer detokenizer(*tokenizer);
  EXPECT_EQ(detokenizer.push(10813), "");
  EXPECT_EQ(detokenizer.push(235), "");
  EXPECT_EQ(detokenizer.push(231), kThumb);
  EXPECT_EQ(detokenizer.flush(), "");
}

TEST(B01_Utf8Stream, b_FlushesAnUnfinishedCharacterAsOneReplacement) {
  const auto tokenizer = default_model_tokenizer();
  ASSERT_NE(tokenizer, nullptr);
  Detokenizer detokenizer(*tokenizer);
  EXPECT_EQ(detokenizer.push(10813), "");
  EXPECT_EQ(detokenizer.push(235), "");
  EXPECT_EQ(detokenizer.flush(), kReplacement);
  EXPECT_EQ(detokenizer.flush(), "");
}

TEST(Detokenizer, ReplacesBytesThatCanBecomeNoCharacterAtOnce) {
  const auto tokenizer = tokenizer_of(VocabularyFile("gpt-2"));
  ASSERT_NE(tokenizer, nullptr);
  Detokenizer detokenizer(*tokenizer);
  EXPECT_EQ(detokenizer.push(0xFF), kReplacement);
  EXPECT_EQ(detokenizer.push(0xE4), "");
  EXPECT_EQ(detokenizer.push('a'), std::string(kReplacement) + "a");
  EXPECT_EQ(detokenizer.push(0xE4), "");
  EXPECT_EQ(detokenizer.push(0xF0), kReplacement);
  EXPECT_EQ(detokenizer.flush(), kReplacement);
}

TEST(Detokenizer, GivesNoTextForSpecialTokens) {
  VocabularyFile vocabulary("gpt-2");
  const int32_t control = vocabulary.add("<|im_end|>", kControl);
  const int32_t added = vocabulary.add("<tool>", kUserDefined);
  const auto tokenizer = tokenizer_of(vocabulary);
  ASSERT_NE(tokenizer, nullptr);
  Detokenizer detokenizer(*tokenizer);
  EXPECT_EQ(detokenizer.push(0xC3), "");
  EXPECT_EQ(detokenizer.push(control), "");
  EXPECT_EQ(detokenizer.push(0xA9), "\xC3\xA9");
  EXPECT_EQ(detokenizer.push(added), "<tool>");
}

TEST(Detokenizer, StreamsAnyBytesAsTheSanitizedWhole) {
  const auto tokenizer = tokenizer_of(VocabularyFile("gpt-2"));
  ASSERT_NE(tokenizer, nullptr);
  // Bytes that are likely to come near to characters.
  constexpr std::string_view kBytes = "a\x80\x9F\xA0\xBF\xC2\xE0\xE4\xED\xF0\xF4\xFF";
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::string bytes;
    Detokenizer detokenizer(*tokenizer);
    std::string text;
    for (uint64_t i = 0; i < random_bits(seed, 0) % 12; ++i) {
      bytes += kBytes[random_bits(seed, i + 1) % kBytes.size()];
      const std::string piece = detokenizer.push(static_cast<uint8_t>(bytes.back()));
      EXPECT_TRUE(is_valid_utf8(piece)) << "seed " << seed;
      text += piece;
    }
    text += detokenizer.flush();
    EXPECT_EQ(text, sanitize_utf8(bytes)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sluice::engine
