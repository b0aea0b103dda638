#include "engine/cuda/host_device.h"

#include <array>

#include <gtest/gtest.h>

#include "engine/cuda/gpu.h"

namespace sluice::engine::cuda {
namespace {

GPU_KERNEL(32) void add_one(int32_t* value) {
  if (gpu::thread_index().x == 0) *value += 1;
}

class HostDeviceWork : public testing::Test {
 protected:
  void SetUp() override {
    device_memory_ = DeviceBuffer::allocate(device_, 64, "a test").value();
    host_memory_ = HostBuffer::allocate(device_, 64, "a test").value();
  }
  int32_t* on_device() { return device_memory_.as<int32_t>(); }
  int32_t* on_host() { return host_memory_.as<int32_t>(); }
  void launch_add_one() {
    ASSERT_EQ(gpu::launch<add_one>({.grid = {1}, .block = {32}, .stream = device_.stream()}, on_device()), 0);
  }

  HostDevice device_{1000};
  DeviceBuffer device_memory_;
  HostBuffer host_memory_;
};

TEST(HostDevice, GivesBackWhatDies) {
  HostDevice device(1000);
  {
    const auto buffer = DeviceBuffer::allocate(device, 600, "a test");
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(device.memory().free, 400);
    EXPECT_FALSE(DeviceBuffer::allocate(device, 401, "a test").ok());
    const auto pinned = HostBuffer::allocate(device, 5000, "a test");
    EXPECT_EQ(device.host_bytes(), 5000);
    EXPECT_EQ(device.memory().free, 400);
  }
  EXPECT_EQ(device.memory().free, 1000);
  EXPECT_EQ(device.host_bytes(), 0);
  EXPECT_EQ(device.allocation_count(), 2);
}

TEST_F(HostDeviceWork, IsDoneWhenSomebodyWaits) {
  *on_host() = 5;
  ASSERT_TRUE(device_.enqueue_copy_in(on_device(), on_host(), 4).ok());
  launch_add_one();
  *on_host() = 7;  // too early: the copy takes this
  EXPECT_EQ(*on_device(), 0);
  ASSERT_TRUE(device_.synchronize().ok());
  EXPECT_EQ(*on_device(), 8);
}

TEST_F(HostDeviceWork, IsDoneUpToTheEventThatIsWaitedFor) {
  const auto event = device_.make_event().value();
  ASSERT_TRUE(device_.wait(*event).ok());  // never recorded
  launch_add_one();
  ASSERT_TRUE(device_.record(*event).ok());
  launch_add_one();
  ASSERT_TRUE(device_.wait(*event).ok());
  EXPECT_EQ(*on_device(), 1);
  ASSERT_TRUE(device_.wait(*event).ok());
  EXPECT_EQ(*on_device(), 1);
  ASSERT_TRUE(device_.record(*event).ok());
  ASSERT_TRUE(device_.wait(*event).ok());
  EXPECT_EQ(*on_device(), 2);
}

TEST_F(HostDeviceWork, CopiesOutInTurn) {
  launch_add_one();
  ASSERT_TRUE(device_.enqueue_copy_out(on_host(), on_device(), 4).ok());
  launch_add_one();
  int32_t value = 0;
  ASSERT_TRUE(device_.copy_out(&value, on_device(), 4).ok());
  EXPECT_EQ(*on_host(), 1);
  EXPECT_EQ(value, 2);
}

TEST_F(HostDeviceWork, WaitsBeforeItCopiesInAtOnce) {
  launch_add_one();
  const int32_t value = 10;
  ASSERT_TRUE(device_.copy_in(on_device(), &value, 4).ok());
  ASSERT_TRUE(device_.synchronize().ok());
  EXPECT_EQ(*on_device(), 10);
}

TEST_F(HostDeviceWork, RunsWhatWasRecordedOverWhatTheMemoryHoldsThen) {
  ASSERT_TRUE(device_.begin_recording().ok());
  ASSERT_TRUE(device_.enqueue_copy_in(on_device(), on_host(), 4).ok());
  launch_add_one();
  const auto graph = device_.end_recording().value();
  ASSERT_TRUE(device_.synchronize().ok());
  EXPECT_EQ(*on_device(), 0);  // recording does nothing
  for (const int32_t value : {3, 30}) {
    *on_host() = value;
    ASSERT_TRUE(device_.run(*graph).ok());
    ASSERT_TRUE(device_.synchronize().ok());
    EXPECT_EQ(*on_device(), value + 1);
  }
}

TEST_F(HostDeviceWork, MultipliesIntoPartsOfRows) {
  const std::array<float, 16> values{1, 2, 3, 4, 5, 6};  // in [2, 1], matrix [2, 1], bias [2], and room for rows of 3
  ASSERT_TRUE(device_.copy_in(on_device(), values.data(), 64).ok());
  auto* const floats = device_memory_.as<float>();
  const Product product{.rows = 2,
                        .outputs = 2,
                        .inputs = 1,
                        .element = Element::kF32,
                        .in = floats,
                        .matrix = floats + 2,
                        .bias = floats + 4,
                        .out = floats + 7,
                        .out_stride = 3};
  ASSERT_TRUE(device_.multiply(product).ok());
  std::array<float, 16> got{};
  ASSERT_TRUE(device_.copy_out(got.data(), on_device(), 64).ok());
  const std::array<float, 16> expected{1, 2, 3, 4, 5, 6, 0, 1 * 3 + 5, 1 * 4 + 6, 0, 2 * 3 + 5, 2 * 4 + 6};
  EXPECT_EQ(got, expected);
  Product beyond = product;
  beyond.out = floats + 12;  // the second row's second output is the 17th float
  EXPECT_DEATH((void)device_.multiply(beyond), "contains");
  beyond.out = floats + 11;
  EXPECT_TRUE(device_.multiply(beyond).ok());
  beyond.out_stride = 1;
  EXPECT_DEATH((void)device_.multiply(beyond), "stride >= outputs");
}

TEST_F(HostDeviceWork, RecordsPreparedProductsAlone) {
  auto* const floats = device_memory_.as<float>();
  const Product product{.rows = 1,
                        .outputs = 2,
                        .inputs = 2,
                        .element = Element::kF32,
                        .in = floats,
                        .matrix = floats + 2,
                        .out = floats + 6};
  device_.prepare(product);
  ASSERT_TRUE(device_.begin_recording().ok());
  EXPECT_TRUE(device_.multiply(product).ok());
  for (int32_t Product::*const field : {&Product::rows, &Product::outputs, &Product::inputs}) {
    Product other = product;
    other.*field = 3 - product.*field;
    EXPECT_DEATH((void)device_.multiply(other), "prepared_");
  }
  Product adding = product;
  adding.adds = true;
  EXPECT_DEATH((void)device_.multiply(adding), "prepared_");
  Product biased = product;
  biased.bias = floats;
  EXPECT_DEATH((void)device_.multiply(biased), "prepared_");
  ASSERT_TRUE(device_.end_recording().ok());
}

TEST_F(HostDeviceWork, StopsAtCopiesBeyondMemory) {
  EXPECT_DEATH((void)device_.enqueue_copy_in(on_device(), on_host(), 65), "contains");
  EXPECT_DEATH((void)device_.enqueue_copy_in(on_device(), on_device(), 4), "contains");
  std::array<std::byte, 128> bytes{};
  EXPECT_DEATH((void)device_.copy_out(bytes.data(), on_device(), 65), "contains");
}

}  // namespace
}  // namespace sluice::engine::cuda
