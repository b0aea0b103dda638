#include "server/model_host.h"

#include <gtest/gtest.h>

#include "tests/server/kept_log.h"

namespace sluice::server {
namespace {

TEST(ModelHost, TheDevicesMemoryIsATableOfALineForEachUse) {
  KeptLog log;
  log_memory({}, log.logger());
  EXPECT_EQ(log.text(), "");
  log_memory({{"weights", int64_t{3} << 30}, {"KV cache", (int64_t{5} << 20) - 1}, {"free", 0}}, log.logger());
  EXPECT_EQ(log.text(),
            "1970-01-01T00:00:00.000Z INFO device memory of=weights mib=3072\n"
            "1970-01-01T00:00:00.000Z INFO device memory of=\"KV cache\" mib=4\n"
            "1970-01-01T00:00:00.000Z INFO device memory of=free mib=0\n");
}

}  // namespace
}  // namespace sluice::server
