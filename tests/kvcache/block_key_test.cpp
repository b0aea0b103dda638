#include "kvcache/block_key.h"

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::kvcache {
namespace {

using ::testing::IsEmpty;

using Tokens = std::vector<int32_t>;

std::vector<std::byte> secret_of(char filling, size_t size = 32) {
  return std::vector<std::byte>(size, static_cast<std::byte>(filling));
}

BlockHasher hasher_of(char secret = 's', std::string_view model_id = "model") {
  return {secret_of(secret), model_id};
}

Tokens tokens_to(int32_t count) {
  Tokens tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

TEST(BlockKeyDeathTest, RefusesASecretThatIsTooShortOrTooLong) {
  EXPECT_DEATH(BlockHasher(secret_of('s', 15), ""), "kSecretBytesMin");
  EXPECT_DEATH(BlockHasher(secret_of('s', 65), ""), "kSecretBytesMax");
  BlockHasher(secret_of('s', 16), "");
  BlockHasher(secret_of('s', 64), "");
}

TEST(BlockKeyDeathTest, RefusesBlocksOfNoTokens) {
  const BlockHasher hasher = hasher_of();
  EXPECT_DEATH(prompt_keys(hasher, "", tokens_to(4), 0), "block_size >= 1");
}

TEST(BlockKey, DependsOnEverythingThatCanDiffer) {
  const Tokens tokens = {1, 2, 3};
  const BlockHasher hasher = hasher_of();
  const BlockKey key = hasher.next(hasher.root("salt"), tokens);
  EXPECT_EQ(key, hasher_of().next(hasher_of().root("salt"), tokens));

  EXPECT_NE(key, hasher.next(hasher.root("salt"), Tokens({1, 2, 4})));
  EXPECT_NE(key, hasher.next(hasher.root("salt"), Tokens({1, 3, 2})));
  EXPECT_NE(key, hasher.next(hasher.root("salt"), Tokens({1, 2, 3, 0})));
  EXPECT_NE(key, hasher.next(hasher.root("salt"), Tokens({1, 2, 3 | (1 << 30)})));
  EXPECT_NE(key, hasher.next(hasher.root("Salt"), tokens));
  EXPECT_NE(key, hasher.next(hasher.root(""), tokens));
  EXPECT_NE(key, hasher.next(key, tokens));
  for (const BlockHasher& other : {hasher_of('t'), hasher_of('s', "other model"), hasher_of('s', "")}) {
    EXPECT_NE(key, other.next(other.root("salt"), tokens));
    EXPECT_NE(key, other.next(hasher.root("salt"), tokens));
    EXPECT_NE(hasher.root("salt"), other.root("salt"));
  }
}

TEST(BlockKey, DependsOnBothHalvesOfItsParent) {
  const BlockHasher hasher = hasher_of();
  const BlockKey parent = hasher.root("");
  const BlockKey key = hasher.next(parent, Tokens({1}));
  EXPECT_NE(key, hasher.next({parent.high ^ 1, parent.low}, Tokens({1})));
  EXPECT_NE(key, hasher.next({parent.high, parent.low ^ 1}, Tokens({1})));
}

TEST(BlockKey, DependsOnTheLengthOfTheSecret) {
  const BlockHasher shorter(secret_of('\0', 16), "model");
  const BlockHasher longer(secret_of('\0', 17), "model");
  EXPECT_NE(shorter.root(""), longer.root(""));
}

TEST(BlockKey, IsNoSaltsKeyEvenWhenTheSaltIsTheBlocksBytes) {
  const BlockHasher hasher = hasher_of();
  const BlockKey parent = hasher.root("");
  const Tokens tokens = {5, 6};
  std::string salt(reinterpret_cast<const char*>(&parent), sizeof parent);
  salt.append(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(int32_t));
  EXPECT_NE(hasher.root(salt), hasher.next(parent, tokens));
}

TEST(BlockKey, SaltsMayHoldAnyBytes) {
  const BlockHasher hasher = hasher_of();
  EXPECT_NE(hasher.root(std::string_view("a\0b", 3)), hasher.root(std::string_view("a\0c", 3)));
  EXPECT_NE(hasher.root(std::string_view("a", 1)), hasher.root(std::string_view("a\0", 2)));
}

TEST(PromptKeys, NameFullBlocksOnly) {
  const BlockHasher hasher = hasher_of();
  EXPECT_THAT(prompt_keys(hasher, "", {}, 4), IsEmpty());
  EXPECT_THAT(prompt_keys(hasher, "", tokens_to(3), 4), IsEmpty());
  EXPECT_EQ(prompt_keys(hasher, "", tokens_to(4), 4).size(), 1U);
  EXPECT_EQ(prompt_keys(hasher, "", tokens_to(7), 4).size(), 1U);
  EXPECT_EQ(prompt_keys(hasher, "", tokens_to(8), 4).size(), 2U);
  EXPECT_EQ(prompt_keys(hasher, "", tokens_to(5), 1).size(), 5U);
}

TEST(PromptKeys, AreTheChainOfTheirBlocks) {
  const BlockHasher hasher = hasher_of();
  const Tokens tokens = tokens_to(9);
  const std::vector<BlockKey> keys = prompt_keys(hasher, "salt", tokens, 4);
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0], hasher.next(hasher.root("salt"), Tokens({0, 1, 2, 3})));
  EXPECT_EQ(keys[1], hasher.next(keys[0], Tokens({4, 5, 6, 7})));
}

TEST(PromptKeys, AreEqualAsFarAsTheTokensAre) {
  const BlockHasher hasher = hasher_of();
  const Tokens tokens = tokens_to(64);
  Tokens changed = tokens;
  changed[33] = -1;
  const std::vector<BlockKey> keys = prompt_keys(hasher, "", tokens, 8);
  const std::vector<BlockKey> others = prompt_keys(hasher, "", changed, 8);
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(keys[i] == others[i], i < 4) << i;
}

TEST(PromptKeys, AreTheSameFromManyThreads) {
  const BlockHasher hasher = hasher_of();
  const Tokens tokens = tokens_to(1000);
  std::vector<std::vector<BlockKey>> keys(4);
  {
    std::vector<std::jthread> threads;
    for (std::vector<BlockKey>& result : keys) {
      threads.emplace_back([&] { result = prompt_keys(hasher, "salt", tokens, 16); });
    }
  }
  for (const std::vector<BlockKey>& result : keys) EXPECT_EQ(result, prompt_keys(hasher, "salt", tokens, 16));
}

}  // namespace
}  // namespace sluice::kvcache
