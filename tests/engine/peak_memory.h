#pragma once

#include <cstdint>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace sluice::engine {

/// The most memory that this process has had.
inline int64_t peak_memory_kib() {
  struct rusage usage {};
  EXPECT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  return usage.ru_maxrss;
}

}  // namespace sluice::engine
