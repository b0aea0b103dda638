#include "engine/cpu/machine_limits.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace sluice::engine::cpu {
namespace {

TEST(MachineLimits, AreFoundForEveryInstructionSetThereIs) {
  const SteadyClock clock;
  const std::vector<std::byte> memory(size_t{4} << 20);
  for (const CpuIsa isa : available_cpu_isas()) {
    ThreadPool pool(2);
    const MachineLimits limits = measure_limits(pool, isa, {{std::span(memory)}}, clock);
    EXPECT_GT(limits.read_bytes_per_second, 1e6) << cpu_isa_name(isa);
    EXPECT_EQ(limits.vector_macs_per_second > 1e6, isa != CpuIsa::kPortable) << cpu_isa_name(isa);
    EXPECT_EQ(limits.tile_macs_per_second > 1e6, isa == CpuIsa::kAmx) << cpu_isa_name(isa);
    EXPECT_EQ(limits.macs_per_second(), std::max(limits.vector_macs_per_second, limits.tile_macs_per_second));
  }
}

TEST(MachineLimits, OfNoMemoryAtAllAreNoFault) {
  const SteadyClock clock;
  ThreadPool pool(1);
  EXPECT_EQ(measure_limits(pool, CpuIsa::kPortable, {}, clock).read_bytes_per_second, 0);
}

}  // namespace
}  // namespace sluice::engine::cpu
