#include "engine/cuda/upload_ring.h"

#include <cstring>

#include <gtest/gtest.h>

#include "engine/cuda/host_device.h"

namespace sluice::engine::cuda {
namespace {

TEST(UploadRing, KeepsWhatTheDeviceHasNotReadYet) {
  constexpr int32_t kTurns = 5;
  HostDevice device(1000);
  UploadRing ring = UploadRing::create(device, 8, "a test").value();
  const auto to = DeviceBuffer::allocate(device, kTurns * 4, "a test").value();
  for (int32_t turn = 0; turn < kTurns; ++turn) {
    std::byte* memory = ring.begin().value();
    std::memcpy(memory + 4, &turn, sizeof(turn));
    ASSERT_TRUE(ring.send(to.as<int32_t>() + turn, 4, 4).ok());
    ASSERT_TRUE(ring.end().ok());
  }
  ASSERT_TRUE(device.synchronize().ok());
  for (int32_t turn = 0; turn < kTurns; ++turn) EXPECT_EQ(to.as<int32_t>()[turn], turn);
}

TEST(UploadRing, LetsOneTurnBeWrittenWhileAnotherIsRead) {
  HostDevice device(1000);
  UploadRing ring = UploadRing::create(device, 4, "a test").value();
  const auto to = DeviceBuffer::allocate(device, 4, "a test").value();
  for (const int32_t value : {1, 2}) {
    std::memcpy(ring.begin().value(), &value, sizeof(value));
    ASSERT_TRUE(ring.send(to.as<void>(), 0, 4).ok());
    ASSERT_TRUE(ring.end().ok());
  }
  EXPECT_EQ(*to.as<int32_t>(), 0);  // nobody had to wait
  ASSERT_TRUE(ring.begin().ok());
  EXPECT_EQ(*to.as<int32_t>(), 1);
}

TEST(UploadRing, StopsAtBytesThatATurnDoesntHave) {
  HostDevice device(1000);
  UploadRing ring = UploadRing::create(device, 8, "a test").value();
  const auto to = DeviceBuffer::allocate(device, 16, "a test").value();
  ASSERT_TRUE(ring.begin().ok());
  EXPECT_TRUE(ring.send(to.as<void>(), 4, 4).ok());
  EXPECT_DEATH((void)ring.send(to.as<void>(), 4, 5), "bytes");
}

}  // namespace
}  // namespace sluice::engine::cuda
