#include "engine/cuda/device_limits.h"

#include <gtest/gtest.h>

#include "engine/cuda/host_device.h"

namespace sluice::engine::cuda {
namespace {

/// Each look at it takes a second.
class SlowClock final : public Clock {
 public:
  TimePoint now() const override { return now_ += std::chrono::seconds(1); }

 private:
  mutable TimePoint now_{};
};

constexpr LimitTrial kSmall{.copied_bytes = 1 << 10, .product_side = 16, .rounds = 3};

TEST(DeviceLimits, CountsWhatACopyReadsAndWritesAndWhatAProductMultiplies) {
  HostDevice device(int64_t{1} << 20);
  const MachineLimits limits = measure_device_limits(device, SlowClock(), kSmall).value();
  EXPECT_DOUBLE_EQ(limits.read_bytes_per_second, 2048);
  EXPECT_DOUBLE_EQ(limits.macs_per_second(), 4096);
}

TEST(DeviceLimits, AreUnknownWhenNoTimePasses) {
  HostDevice device(int64_t{1} << 20);
  const MachineLimits limits = measure_device_limits(device, ManualClock(), kSmall).value();
  EXPECT_EQ(limits.read_bytes_per_second, 0);
}

TEST(DeviceLimits, GiveTheirMemoryBackAndAskForItFirst) {
  HostDevice device(int64_t{1} << 20);
  ASSERT_TRUE(measure_device_limits(device, SlowClock(), kSmall).ok());
  EXPECT_EQ(device.memory().free, device.memory().total);
  HostDevice small(1000);
  EXPECT_EQ(measure_device_limits(small, SlowClock(), kSmall).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace sluice::engine::cuda
