#include "scheduler/recent_tenants.h"

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

TEST(RecentTenants, CountsEachTenantOnce) {
  RecentTenants recent;
  EXPECT_EQ(recent.count(), 0);
  for (const int32_t tenant : {0, 7, 0, 7, 7}) recent.note(tenant);
  EXPECT_EQ(recent.count(), 2);
}

TEST(RecentTenants, ForgetsWhoSentNoneOfTheLastRequests) {
  RecentTenants recent;
  recent.note(3);
  for (size_t i = 1; i < RecentTenants::kRequests; ++i) recent.note(5);
  EXPECT_EQ(recent.count(), 2) << "the oldest is still looked back at";
  recent.note(5);
  EXPECT_EQ(recent.count(), 1);
  recent.note(3);
  EXPECT_EQ(recent.count(), 2);
}

TEST(RecentTenants, CountsAsManyAsItLooksBackAt) {
  RecentTenants recent;
  for (int32_t tenant = 0; tenant < 1000; ++tenant) recent.note(tenant);
  EXPECT_EQ(recent.count(), static_cast<int32_t>(RecentTenants::kRequests));
}

}  // namespace
}  // namespace sluice::scheduler
