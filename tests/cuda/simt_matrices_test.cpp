#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/gpu.h"
#include "tests/cuda/gpu_orders.h"

namespace sluice::gpu {
namespace {

class SimtMatrices : public OrderedTest {};
INSTANTIATE_TEST_SUITE_P(Orders, SimtMatrices, testing::ValuesIn(simt::all_orders()), order_name);

constexpr size_t kSide = 16;

struct alignas(16) Operands {
  Bf16 a[kSide][kSide];  // [row, inner]
  Bf16 b[kSide][kSide];  // [inner, column]
};

using Product = std::array<std::array<float, kSide>, kSide>;

/// sum = a * b for [16, 16] matrices: the four 8x8 quarters of a in the order of multiply_add's registers, those of b
/// transposed, since it wants pairs along a column.
GPU_KERNEL(32) void multiply(const Operands* from, Product* sum) {
  Operands& operands = shared<Operands>();
  if (lane() == 0) operands = *from;
  sync_warp();
  const int32_t row = lane() % 16;
  const int32_t half = lane() / 16 * 8;
  uint32_t a[4];
  uint32_t b[4];
  load_matrices(a, &operands.a[row][half]);
  load_matrices_transposed(b, &operands.b[row][half]);
  for (int32_t side = 0; side < 2; ++side) {
    float part[4] = {1.0F, 1.0F, 1.0F, 1.0F};
    multiply_add(part, a, {b[2 * side], b[2 * side + 1]});
    for (int32_t i = 0; i < 4; ++i)
      (*sum)[static_cast<size_t>(lane() / 4 + i / 2 * 8)][static_cast<size_t>(8 * side + lane() % 4 * 2 + i % 2)] =
          part[i];
  }
}

Operands some_operands() {
  Operands operands;
  for (size_t i = 0; i < kSide; ++i)
    for (size_t k = 0; k < kSide; ++k) {
      operands.a[i][k] = from_float<Bf16>(static_cast<float>((i * 37 + k * 11) % 64) - 20.0F);
      operands.b[i][k] = from_float<Bf16>(static_cast<float>((i * 13 + k * 29) % 64) - 30.0F);
    }
  return operands;
}

TEST_P(SimtMatrices, MultiplyByTheDocumentedLayouts) {
  const Operands operands = some_operands();
  Product product{};
  launch<multiply>({.block = {32}, .shared_bytes = sizeof(Operands), .stream = stream()}, &operands, &product);
  for (size_t row = 0; row < kSide; ++row)
    for (size_t column = 0; column < kSide; ++column) {
      double expected = 1.0;
      for (size_t k = 0; k < kSide; ++k)
        expected += static_cast<double>(to_float(operands.a[row][k])) * to_float(operands.b[k][column]);
      EXPECT_EQ(product[row][column], static_cast<float>(expected)) << row << " " << column;
    }
}

struct alignas(16) Quarters {
  uint16_t elements[4][8][8];  // [matrix, row, column]
};

struct Loaded {
  uint32_t straight[4];
  uint32_t transposed[4];
};

GPU_KERNEL(32) void load_both_ways(Loaded* results) {
  Quarters& quarters = shared<Quarters>();
  for (int32_t i = lane(); i < 256; i += kWarpSize) (&quarters.elements[0][0][0])[i] = static_cast<uint16_t>(i);
  sync_warp();
  const void* const row = quarters.elements[lane() / 8][lane() % 8];
  load_matrices(results[lane()].straight, row);
  load_matrices_transposed(results[lane()].transposed, row);
}

TEST_P(SimtMatrices, LoadByTheDocumentedLayouts) {
  std::vector<Loaded> results(32);
  launch<load_both_ways>({.block = {32}, .shared_bytes = sizeof(Quarters), .stream = stream()}, results.data());
  const auto element = [](uint32_t matrix, uint32_t row, uint32_t column) { return matrix * 64 + row * 8 + column; };
  for (uint32_t i = 0; i < 32; ++i)
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t along = 2 * (i % 4);
      EXPECT_EQ(results[i].straight[j], element(j, i / 4, along) | element(j, i / 4, along + 1) << 16);
      EXPECT_EQ(results[i].transposed[j], element(j, along, i / 4) | element(j, along + 1, i / 4) << 16);
    }
}

GPU_KERNEL(32) void load_row(int32_t bytes_off) {
  uint32_t to[4];
  load_matrices(to, reinterpret_cast<const char*>(&shared<Quarters>()) + bytes_off);
}

GPU_KERNEL(32) void load_global(const Quarters* from) {
  uint32_t to[4];
  load_matrices_transposed(to, from);
}

GPU_KERNEL(32) void multiply_without_lane() {
  float sum[4] = {};
  if (lane() != 17) multiply_add(sum, {0, 0, 0, 0}, {0, 0});
}

TEST(SimtMatricesDeathTest, RefuseRowsThatADeviceCannotLoad) {
  const Launch how{.block = {32}, .shared_bytes = sizeof(Quarters)};
  const Quarters quarters{};
  EXPECT_DEATH(launch<load_row>(how, 8), "load_matrices of a row that is not at a multiple of 16 bytes");
  EXPECT_DEATH(launch<load_row>(how, 512), "load_matrices outside of shared memory");
  EXPECT_DEATH(launch<load_global>(how, &quarters), "load_matrices outside of shared memory");
}

TEST(SimtMatricesDeathTest, RefuseToMultiplyWithoutAllLanes) {
  EXPECT_DEATH(launch<multiply_without_lane>({.block = {32}}), "waits in multiply_add .*for thread \\(17, 0, 0\\)");
}

}  // namespace
}  // namespace sluice::gpu
