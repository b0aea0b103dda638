#include "engine/cuda/device_row_maker.h"

#include <iterator>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/host_device.h"
#include "engine/cuda/simt/simt_order.h"
#include "engine/quant_scheme.h"
#include "engine/random_rows.h"

namespace sluice::engine::cuda {
namespace {

constexpr int64_t kRoomy = int64_t{16} << 20;
constexpr int64_t kFirstRow = 5;
constexpr int64_t kRows = 9;

std::vector<TensorType> all_types() {
  std::vector<TensorType> types = {TensorType::kF32, TensorType::kF16, TensorType::kBf16};
  types.insert(types.end(), std::begin(kQuantizedTypes), std::end(kQuantizedTypes));
  return types;
}

/// Bytes of the maker's rows, made by the device.
std::vector<std::byte> made_there(const RandomRows& rows, int64_t first_byte, int64_t bytes, gpu::simt::Order order) {
  HostDevice device(kRoomy, order);
  DeviceRowMaker maker(device);
  const auto memory = DeviceBuffer::allocate(device, bytes, "a test").value();
  EXPECT_TRUE(maker.make(*rows.recipe(), first_byte, bytes, memory.as<void>()).ok());
  std::vector<std::byte> made(static_cast<size_t>(bytes));
  EXPECT_TRUE(device.copy_out(made.data(), memory.as<void>(), bytes).ok());
  return made;
}

TEST(DeviceRowMaker, MakesTheBytesThatTheHostMakes) {
  for (const TensorType type : all_types()) {
    // Rows of floats that are no whole words, and rows of blocks that are none.
    const int64_t length = traits_of(type).block_elements == 1 ? 517 : traits_of(type).block_elements * int64_t{3};
    const RandomRows rows(type, length, {.mean = 0, .deviation = 0.04F}, 11);
    const int64_t row_bytes = tensor_bytes(type, length);
    std::vector<std::byte> expected(static_cast<size_t>(kRows * row_bytes));
    rows.make_rows(kFirstRow, expected);
    // All of it, and a part that begins and ends amid rows.
    const int64_t unit = traits_of(type).block_bytes;
    for (const auto& [skipped, left] : {std::pair(int64_t{0}, int64_t{0}), {2 * unit, 3 * unit}, {unit, row_bytes}}) {
      SCOPED_TRACE(tensor_type_name(type) + " without the first " + std::to_string(skipped));
      const auto part = std::span(expected)
                            .subspan(static_cast<size_t>(skipped))
                            .first(expected.size() - static_cast<size_t>(skipped + left));
      for (const gpu::simt::Order order : gpu::simt::all_orders()) {
        const auto made = made_there(rows, kFirstRow * row_bytes + skipped, static_cast<int64_t>(part.size()), order);
        EXPECT_TRUE(std::ranges::equal(made, part));
      }
    }
  }
}

TEST(DeviceRowMaker, CopiesTheNumbersToDrawFromOnce) {
  const RandomRows rows(TensorType::kBf16, 64, {.mean = 1, .deviation = 0.1F}, 1);
  HostDevice device(kRoomy);
  DeviceRowMaker maker(device);
  const auto memory = DeviceBuffer::allocate(device, 128, "a test").value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(maker.make(*rows.recipe(), i * int64_t{128}, 128, memory.as<void>()).ok());
  EXPECT_EQ(device.allocation_count(), 2);
}

TEST(DeviceRowMaker, SaysWhatItHasNoRoomFor) {
  const RandomRows rows(TensorType::kF32, 64, {.mean = 1, .deviation = 0.1F}, 1);
  HostDevice device(4096 * 4 - 1);
  DeviceRowMaker maker(device);
  EXPECT_EQ(maker.make(*rows.recipe(), 0, 256, nullptr).message(),
            "no 16384 bytes of device memory for random weights: 16383 of 16383 are free");
}

}  // namespace
}  // namespace sluice::engine::cuda
