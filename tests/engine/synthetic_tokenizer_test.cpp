#include "engine/synthetic_tokenizer.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/detokenizer.h"

namespace sluice::engine {
namespace {

using ::testing::ElementsAre;

constexpr int32_t kVocab = 128256;

TEST(SyntheticTokenizer, MakesTokensOfBytesAndTextOfTokens) {
  const auto tokenizer = make_synthetic_tokenizer(kVocab);
  EXPECT_EQ(tokenizer->vocab_size(), kVocab);
  for (const std::string text : {"", "a", "The quick\nbrown  fox", "Grüße, 世界 🙂", "<|bos|> <|eos|>"}) {
    const auto ids = tokenizer->encode(text, SpecialTokens::kAsText);
    ASSERT_TRUE(ids.ok()) << ids.status();
    ASSERT_EQ(ids->size(), text.size());
    std::string back;
    for (size_t i = 0; i < ids->size(); ++i) {
      EXPECT_EQ((*ids)[i], static_cast<unsigned char>(text[i]));
      back += tokenizer->token_bytes((*ids)[i]);
    }
    EXPECT_EQ(back, text);
  }
}

TEST(SyntheticTokenizer, BeginsPromptsWithBosAndEndsWithEos) {
  const auto tokenizer = make_synthetic_tokenizer(kSyntheticTokensMin);
  EXPECT_EQ(tokenizer->bos_id(), 256);
  EXPECT_TRUE(tokenizer->adds_bos());
  EXPECT_THAT(tokenizer->end_ids(), ElementsAre(257));
  EXPECT_TRUE(tokenizer->is_special(256) && tokenizer->is_special(257));
  EXPECT_FALSE(tokenizer->is_special(255));
  EXPECT_THAT(*tokenizer->encode("<|bos|>a<|eos|>", SpecialTokens::kParse), ElementsAre(256, 'a', 257));
}

TEST(SyntheticTokenizer, GivesEveryOtherTokenAPrintableWordOfItsOwn) {
  const auto tokenizer = make_synthetic_tokenizer(kVocab);
  std::set<std::string_view> words;
  for (int32_t id = kSyntheticTokensMin; id < kVocab; ++id) {
    const std::string_view word = tokenizer->token_bytes(id);
    ASSERT_TRUE(word.size() >= 2 && word.front() == ' ') << id;
    ASSERT_TRUE(std::ranges::all_of(word.substr(1), [](char c) { return c >= 'a' && c <= 'z'; })) << word;
    ASSERT_TRUE(words.insert(word).second) << word;
    ASSERT_FALSE(tokenizer->is_special(id));
  }
}

TEST(SyntheticChatTemplate, WritesALineForEachMessage) {
  ChatPrompt prompt;
  prompt.messages_json = R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])";
  const auto runs = make_synthetic_chat_template().render(prompt);
  ASSERT_TRUE(runs.ok()) << runs.status();
  std::string text;
  for (const TextRun& run : *runs) text += run.text;
  EXPECT_EQ(text, "<|bos|>system: Be brief.\nuser: Hi\nassistant:");
  EXPECT_EQ(make_synthetic_tokenizer(kVocab)->encode(*runs)->front(), 256);
}

}  // namespace
}  // namespace sluice::engine
