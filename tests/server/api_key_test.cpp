#include "server/api_key.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kKey = "sk-0123456789abcdef";

std::string error_of(const std::string& text) {
  return parse_api_keys(text, "keys.txt").status().message();
}

TEST(ApiKeys, ALineIsAKeyItsTenantAndWhatItMay) {
  const auto keys = parse_api_keys(
      "# ours\n\n  " + kKey + "\tteam-a requests=3 max_tokens=100 priority=-2 admin # note\r\n", "keys.txt");
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_EQ(keys->size(), 1U);
  const ApiKey& key = keys->front();
  EXPECT_EQ(key.digest, digest_of(kKey));
  EXPECT_EQ(key.tenant, "team-a");
  EXPECT_EQ(key.limits.requests, 3);
  EXPECT_EQ(key.limits.max_tokens, 100);
  EXPECT_EQ(key.limits.priority, -2);
  EXPECT_TRUE(key.is_admin);
  EXPECT_FALSE(key.names_tenants);
}

TEST(ApiKeys, WithoutOptionsAKeyHasNoLimitsAndIsNoAdmins) {
  const auto keys = parse_api_keys(kKey + " *", "keys.txt");
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(keys->front().limits.requests, 0);
  EXPECT_EQ(keys->front().limits.max_tokens, 0);
  EXPECT_EQ(keys->front().limits.priority, -100);
  EXPECT_FALSE(keys->front().is_admin);
  EXPECT_TRUE(keys->front().names_tenants);
}

// printf %s abcdefghijklmnop | sha256sum
TEST(ApiKeys, AKeyMayStandAsItsSha256) {
  const auto keys =
      parse_api_keys("sha256:f39dac6cbaba535e2c207cd0cd8f154974223c848f727f98b3564cea569b41cf a", "keys.txt");
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_EQ(keys->front().digest, digest_of("abcdefghijklmnop"));
}

TEST(ApiKeys, BothSidesOfEveryLimit) {
  EXPECT_TRUE(parse_api_keys(std::string(16, 'k') + " t", "f").ok());
  EXPECT_THAT(error_of(std::string(15, 'k') + " t"), HasSubstr("16 to 256"));
  EXPECT_TRUE(parse_api_keys(std::string(256, 'k') + " t", "f").ok());
  EXPECT_THAT(error_of(std::string(257, 'k') + " t"), HasSubstr("16 to 256"));
  EXPECT_TRUE(parse_api_keys(kKey + " " + std::string(128, 't'), "f").ok());
  EXPECT_THAT(error_of(kKey + " " + std::string(129, 't')), HasSubstr("128 bytes"));
  for (const char* good :
       {"requests=1", "requests=1000000", "max_tokens=1", "max_tokens=16777216", "priority=-100", "priority=100"}) {
    EXPECT_TRUE(parse_api_keys(kKey + " t " + good, "f").ok()) << good;
  }
  for (const char* bad : {"requests=0", "requests=1000001", "max_tokens=0", "max_tokens=16777217", "priority=-101",
                          "priority=101", "requests=", "requests=1x", "requests", "budget=1", "Admin", "=1"}) {
    EXPECT_FALSE(parse_api_keys(kKey + " t " + bad, "f").ok()) << bad;
  }
}

TEST(ApiKeys, ErrorsNameFileAndLineButNeverTheKey) {
  for (const std::string& bad : {kKey, kKey + " t colour=red", kKey + "\x7f t", kKey + " t\n" + kKey + " u",
                                 "sha256:" + kKey + " t", "sha256:" + std::string(63, 'a') + " t"}) {
    EXPECT_THAT(error_of("# a comment\n" + bad), StartsWith("keys.txt:"));
    EXPECT_THAT(error_of("# a comment\n" + bad), Not(HasSubstr("0123456789")));
  }
  EXPECT_THAT(error_of(kKey + " t\n" + kKey + " u"), StartsWith("keys.txt:2:"));
}

TEST(ApiKeys, AFileWithoutKeysIsAMistake) {
  EXPECT_THAT(error_of(""), HasSubstr("no key"));
  EXPECT_THAT(error_of("# none yet\n"), HasSubstr("no key"));
}

}  // namespace
}  // namespace sluice::server
