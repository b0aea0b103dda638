#include "bench/prompt_source.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using Ids = Ask::Tokens;

PromptSource source(int32_t vocab_size, uint64_t seed = 0) {
  return PromptSource::of_tokens(vocab_size, {0, 2}, seed).value();
}

Ids ids(const PromptSource& prompts, uint64_t number, int32_t length, int32_t shared = 0) {
  return std::get<Ids>(prompts.prompt(number, length, shared));
}

TEST(PromptSource, FailsWhenNothingIsLeftToDraw) {
  EXPECT_EQ(PromptSource::of_tokens(2, {0, 1}, 0).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(PromptSource::of_tokens(0, {}, 0).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(PromptSource::of_tokens(2, {0, 5}, 0).ok());
}

TEST(PromptSource, NeverDrawsAnExcludedIdOrOneBeyondTheVocabulary) {
  const PromptSource prompts = source(5);
  for (uint64_t number = 0; number < 100; ++number) {
    for (const int32_t id : ids(prompts, number, 50)) EXPECT_TRUE(id == 1 || id == 3 || id == 4) << id;
  }
}

TEST(PromptSource, PromptsShareNoPrefixUntilTheVocabularyIsUsedUp) {
  const PromptSource prompts = source(102, 9);
  std::set<int32_t> first_ids;
  for (uint64_t number = 1000; number < 1100; ++number) first_ids.insert(ids(prompts, number, 1)[0]);
  EXPECT_EQ(first_ids.size(), 100U);
}

TEST(PromptSource, IsAFunctionOfSeedAndNumber) {
  EXPECT_EQ(ids(source(1000, 1), 5, 20), ids(source(1000, 1), 5, 20));
  EXPECT_NE(ids(source(1000, 1), 5, 20), ids(source(1000, 2), 5, 20));
  EXPECT_NE(ids(source(1000, 1), 5, 20), ids(source(1000, 1), 6, 20));
}

TEST(PromptSource, PromptsThatShareBeginAlikeAndThenDiffer) {
  const PromptSource prompts = source(1000);
  const Ids a = ids(prompts, 1, 4, 10);
  const Ids b = ids(prompts, 2, 4, 10);
  ASSERT_EQ(a.size(), 14U);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 10, b.begin()));
  EXPECT_NE(a[10], b[10]);
  // A shorter share is the begin of a longer one.
  const Ids c = ids(prompts, 3, 4, 6);
  EXPECT_TRUE(std::equal(c.begin(), c.begin() + 6, a.begin()));
}

TEST(PromptSource, WordsAreAsManyAsTokensAreAsked) {
  const PromptSource prompts = PromptSource::of_words(PromptForm::kText, 3);
  const auto text = std::get<Ask::Text>(prompts.prompt(7, 5, 3));
  EXPECT_EQ(std::count(text.begin(), text.end(), ' '), 7);
  EXPECT_NE(text, std::get<Ask::Text>(prompts.prompt(8, 5, 3)));
}

TEST(PromptSource, AChatIsAUsersMessage) {
  const auto chat = std::get<Ask::Chat>(PromptSource::of_words(PromptForm::kChat, 3).prompt(7, 5, 0));
  ASSERT_EQ(chat.size(), 1U);
  EXPECT_EQ(chat[0].role, "user");
}

TEST(Prompts, AreAddedByTheirForm) {
  EXPECT_EQ(Ask::Prompt(Ids{1, 2}) + Ask::Prompt(Ids{3}), Ask::Prompt(Ids{1, 2, 3}));
  EXPECT_EQ(Ask::Prompt("a") + Ask::Prompt("b"), Ask::Prompt("ab"));
  const auto chat =
      std::get<Ask::Chat>(Ask::Prompt(Ask::Chat{{"user", "a"}}) + Ask::Prompt(Ask::Chat{{"assistant", "b"}}));
  ASSERT_EQ(chat.size(), 2U);
  EXPECT_EQ(chat[1].content, "b");
}

}  // namespace
}  // namespace sluice::bench
