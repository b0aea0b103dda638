#include "server/access.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kOurs = "sk-0123456789abcdef";
const std::string kGateways = "sk-gateway-0123456789";

class AccessTest : public ::testing::Test {
 protected:
  AccessTest() { write(kOurs + " ours requests=2\n" + kGateways + " * admin\n"); }
  ~AccessTest() override { std::filesystem::remove(path_); }

  void write(const std::string& text) { std::ofstream(path_) << text; }
  static StatusCode code_of(const Access& access, const std::string& authorization, const std::string& tenant = "") {
    return access.admit({.authorization = authorization, .tenant = tenant}).status().code();
  }

  const std::string path_ = testing::TempDir() + "sluice_access_" + std::to_string(getpid()) + ".keys";
};

TEST_F(AccessTest, WithoutKeysEveryoneMayAndNamesHisTenant) {
  const auto access = Access::open("").value();
  EXPECT_EQ(access->admit({.authorization = "", .tenant = "a"})->tenant, "a");
  EXPECT_EQ(access->admit({.authorization = "Bearer whatever", .tenant = ""})->tenant, "");
  EXPECT_EQ(code_of(*access, "", std::string(129, 'a')), StatusCode::kInvalidArgument);
  EXPECT_TRUE(access->admit_admin({}).ok());
  EXPECT_TRUE(access->reload().ok());
}

TEST_F(AccessTest, TheKeyMakesTheTenant) {
  const auto access = Access::open(path_).value();
  const auto caller = access->admit({.authorization = "Bearer " + kOurs, .tenant = ""});
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->tenant, "ours");
  EXPECT_EQ(caller->limits.requests, 2);
  EXPECT_EQ(code_of(*access, "Bearer " + kOurs, "ours"), StatusCode::kOk);
  EXPECT_EQ(code_of(*access, "Bearer " + kOurs, "theirs"), StatusCode::kPermissionDenied);
  EXPECT_EQ(access->admit({.authorization = "bearer  " + kGateways, .tenant = "theirs"})->tenant, "theirs");
}

TEST_F(AccessTest, EverythingElseIsNoKey) {
  const auto access = Access::open(path_).value();
  for (const std::string& bad : {std::string(), std::string("Bearer"), std::string("Bearer "), kOurs, "Basic " + kOurs,
                                 "Bearer " + kOurs + "x", "Bearer " + kOurs.substr(1), "Bearer " + kOurs + " "}) {
    EXPECT_EQ(code_of(*access, bad), StatusCode::kUnauthenticated) << bad;
  }
}

TEST_F(AccessTest, OnlyAdminKeysChangeTheDaemon) {
  const auto access = Access::open(path_).value();
  EXPECT_TRUE(access->admit_admin({.authorization = "Bearer " + kGateways, .tenant = ""}).ok());
  EXPECT_EQ(access->admit_admin({.authorization = "Bearer " + kOurs, .tenant = ""}).code(),
            StatusCode::kPermissionDenied);
  EXPECT_EQ(access->admit_admin({}).code(), StatusCode::kUnauthenticated);
}

TEST_F(AccessTest, ReloadedKeysKeepTheCountOfTheirRequests) {
  const auto access = Access::open(path_).value();
  const Caller before = access->admit({.authorization = "Bearer " + kOurs, .tenant = ""}).value();
  auto first = before.use->take(2);
  write(kOurs + " renamed requests=1\n");
  ASSERT_TRUE(access->reload().ok());
  EXPECT_EQ(access->key_count(), 1U);
  EXPECT_EQ(code_of(*access, "Bearer " + kGateways), StatusCode::kUnauthenticated);
  const Caller after = access->admit({.authorization = "Bearer " + kOurs, .tenant = ""}).value();
  EXPECT_EQ(after.tenant, "renamed");
  EXPECT_FALSE(after.use->take(1).has_value()) << "the request from before still runs";
  first.reset();
  EXPECT_TRUE(after.use->take(1).has_value());
}

TEST_F(AccessTest, AFileThatCantBeUsedChangesNothing) {
  const auto access = Access::open(path_).value();
  write("nonsense\n");
  EXPECT_THAT(access->reload().message(), StartsWith("security.api_keys_path: " + path_ + ":1:"));
  std::filesystem::remove(path_);
  EXPECT_THAT(access->reload().message(), HasSubstr("no such file"));
  EXPECT_EQ(code_of(*access, "Bearer " + kOurs), StatusCode::kOk);
  EXPECT_EQ(Access::open(path_).status().code(), StatusCode::kNotFound);
}

TEST(KeyUse, CountsLeasesThatLive) {
  const auto use = std::make_shared<KeyUse>();
  auto first = use->take(2);
  auto second = use->take(2);
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(use->take(2));
  KeyUse::Lease moved = std::move(*first);
  first.reset();
  EXPECT_FALSE(use->take(2)) << "it has only moved";
  second.reset();
  EXPECT_TRUE(use->take(2));
  EXPECT_TRUE(use->take(0)) << "0 is any number";
}

}  // namespace
}  // namespace sluice::server
