#include "bench/prompt_source.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

PromptSource source(int32_t vocab_size, TokenRange length, uint64_t seed = 0) {
  return PromptSource::create(vocab_size, {0, 2}, length, seed).value();
}

TEST(PromptSource, FailsWhenNothingIsLeftToDraw) {
  EXPECT_EQ(PromptSource::create(2, {0, 1}, {}, 0).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(PromptSource::create(0, {}, {}, 0).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(PromptSource::create(2, {0, 5}, {}, 0).ok());
}

TEST(PromptSource, NeverDrawsAnExcludedIdOrOneBeyondTheVocabulary) {
  const PromptSource prompts = source(5, {.min = 50, .max = 50});
  for (uint64_t index = 0; index < 100; ++index) {
    for (const int32_t id : prompts.prompt(index)) EXPECT_TRUE(id == 1 || id == 3 || id == 4) << id;
  }
}

TEST(PromptSource, PromptsShareNoPrefixUntilTheVocabularyIsUsedUp) {
  const PromptSource prompts = source(102, {.min = 1, .max = 1}, 9);
  std::set<int32_t> first_ids;
  for (uint64_t index = 1000; index < 1100; ++index) first_ids.insert(prompts.prompt(index)[0]);
  EXPECT_EQ(first_ids.size(), 100U);
}

TEST(PromptSource, IsAFunctionOfSeedAndIndex) {
  const TokenRange length{.min = 20, .max = 20};
  EXPECT_EQ(source(1000, length, 1).prompt(5), source(1000, length, 1).prompt(5));
  EXPECT_NE(source(1000, length, 1).prompt(5), source(1000, length, 2).prompt(5));
  EXPECT_NE(source(1000, length, 1).prompt(5), source(1000, length, 1).prompt(6));
}

TEST(PromptSource, LengthsCoverTheRangeAndStayInIt) {
  const PromptSource prompts = source(1000, {.min = 3, .max = 6});
  std::set<size_t> lengths;
  for (uint64_t index = 0; index < 200; ++index) lengths.insert(prompts.prompt(index).size());
  EXPECT_EQ(lengths, (std::set<size_t>{3, 4, 5, 6}));
}

}  // namespace
}  // namespace sluice::bench
