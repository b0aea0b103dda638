#include "server/prompt_keys.h"

#include <array>
#include <cstddef>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

class PromptKeysTest : public ::testing::Test {
 protected:
  scheduler::Submission keyed(const PromptKeys::Rules& rules, const std::string& tenant,
                              const std::string& salt) const {
    scheduler::Submission submission;
    submission.prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    submission.tenant = tenant;
    PromptKeys(hasher_, rules).set(submission, salt);
    return submission;
  }
  kvcache::BlockKey first_key(const PromptKeys::Rules& rules, const std::string& tenant,
                              const std::string& salt) const {
    return keyed(rules, tenant, salt).prefix_keys.value().blocks.front();
  }

  const kvcache::BlockHasher hasher_{std::array<std::byte, 16>{}, "model"};
  const PromptKeys::Rules own_{.block_size = 4};
  const PromptKeys::Rules shared_{.block_size = 4, .shares_across_tenants = true};
};

TEST_F(PromptKeysTest, NamesTheFullBlocksOnly) {
  EXPECT_EQ(keyed(own_, "", "").prefix_keys.value().blocks.size(), 2U);
}

TEST_F(PromptKeysTest, GivesNoneWhenTheCacheIsOff) {
  EXPECT_FALSE(keyed({.block_size = 4, .is_enabled = false}, "", "").prefix_keys.has_value());
}

TEST_F(PromptKeysTest, KeepTenantsApartUnlessTheyShare) {
  EXPECT_NE(first_key(own_, "a", ""), first_key(own_, "b", ""));
  EXPECT_EQ(first_key(own_, "a", ""), first_key(own_, "a", ""));
  EXPECT_EQ(first_key(shared_, "a", ""), first_key(shared_, "b", ""));
  EXPECT_NE(first_key(shared_, "a", "x"), first_key(shared_, "a", "y"));
}

TEST_F(PromptKeysTest, NoSaltMakesATenantLookLikeAnother) {
  EXPECT_NE(first_key(own_, "ab", "c"), first_key(own_, "a", "bc"));
  EXPECT_NE(first_key(own_, "", "1:ab"), first_key(own_, "a", "b"));
}

}  // namespace
}  // namespace sluice::server
