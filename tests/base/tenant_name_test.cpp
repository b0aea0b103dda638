#include "base/tenant_name.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(TenantName, IsPrintableAsciiOfABoundedLength) {
  EXPECT_TRUE(check_tenant_name("x-tenant", "").ok());
  EXPECT_TRUE(check_tenant_name("x-tenant", " a~").ok());
  EXPECT_TRUE(check_tenant_name("x-tenant", std::string(kTenantNameBytesMax, 't')).ok());
  for (const std::string& bad : {std::string(kTenantNameBytesMax + 1, 't'), std::string("a\tb"), std::string("\x7f"),
                                 std::string("\xc3\xa9"), std::string(1, '\0')}) {
    EXPECT_EQ(check_tenant_name("x-tenant", bad).field(), "x-tenant");
  }
}

}  // namespace
}  // namespace sluice
