#include "engine/cuda/kernels/quantize_rows.cuh"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "engine/cuda/kernels/rms_norm.cuh"
#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

using gpu::Fp8;

struct Quantized {
  std::vector<Fp8> elements;
  std::vector<float> scales;
};

/// run(args' out, scales, stream) in all orders.
template <typename Run>
Quantized quantize_in_all_orders(int32_t rows, int32_t width, const Run& run) {
  Quantized made;
  made.elements = run_in_all_orders([&](void* stream) {
    GuardedBuffer<Fp8> out(int64_t{rows} * width);
    GuardedBuffer<float> scales(rows);
    EXPECT_EQ(run(out.data(), scales.data(), stream), 0);
    const std::vector<float> before = std::exchange(made.scales, scales.take());
    EXPECT_TRUE(before.empty() || is_same(before, made.scales));
    return out.take();
  });
  return made;
}

template <typename In>
Quantized quantize(const std::vector<In>& in, int32_t rows) {
  const auto width = static_cast<int32_t>(in.size()) / rows;
  return quantize_in_all_orders(rows, width, [&](Fp8* out, float* scales, void* stream) {
    return launch_quantize_rows(
        QuantizeRowsArgs<In>{.in = in.data(), .out = out, .scales = scales, .rows = rows, .width = width}, stream);
  });
}

/// Each number within half of e4m3's last bit or least step, and of `error`, relative. The largest is 448.
void expect_rounded(const std::vector<double>& exact, const Quantized& got, double error = 0) {
  const size_t width = exact.size() / got.scales.size();
  for (size_t row = 0; row < got.scales.size(); ++row) {
    const auto scale = static_cast<double>(got.scales[row]);
    double largest = 0;
    double largest_element = 0;
    for (size_t i = row * width; i < (row + 1) * width; ++i) {
      largest = std::max(largest, std::abs(exact[i]));
      const auto element = static_cast<double>(gpu::to_float(got.elements[i]));
      largest_element = std::max(largest_element, std::abs(element));
      // One scale more, as a scale is rounded as well.
      const double limit = std::max(std::abs(exact[i]) / 16, scale * 0x1p-10) + std::abs(exact[i]) * (error + 0x1p-22);
      ASSERT_NEAR(element * scale, exact[i], limit) << "row " << row << ", element " << i - row * width;
    }
    EXPECT_NEAR(scale, std::max(largest / 448, 0x1p-100), scale * (error + 0x1p-22)) << "row " << row;
    EXPECT_EQ(largest_element, largest > 448 * 0x1p-100 ? 448 : 0) << "row " << row;
  }
}

template <typename In>
std::vector<double> as_doubles(const std::vector<In>& values) {
  std::vector<double> made;
  for (const In value : values) made.push_back(static_cast<double>(gpu::to_float(value)));
  return made;
}

TEST(QuantizeRowsKernel, RoundsRowsOfAnyWidth) {
  Random random(8);
  for (const int32_t width : {1, 7, 8, 64, 576, 2056, 9001}) {
    SCOPED_TRACE(width);
    const auto floats = random.numbers<float>(3 * width, -3, 3);
    expect_rounded(as_doubles(floats), quantize(floats, 3));
    const auto halves = random.numbers<gpu::Bf16>(3 * width, -0.02F, 0.02F);
    expect_rounded(as_doubles(halves), quantize(halves, 3));
  }
}

TEST(QuantizeRowsKernel, GivesRowsOfZerosAndOfTheLeastNumbersAScale) {
  std::vector<float> rows(3 * 64, 0.0F);
  std::fill(rows.begin() + 64, rows.begin() + 128, std::numeric_limits<float>::denorm_min());
  std::fill(rows.begin() + 128, rows.end(), -1e-36F);
  const Quantized got = quantize(rows, 3);
  EXPECT_EQ(got.scales, (std::vector<float>{0x1p-100F, 0x1p-100F, 0x1p-100F}));
  for (const Fp8 element : got.elements) EXPECT_EQ(gpu::to_float(element), 0.0F);
}

TEST(QuantizeRowsKernel, KeepsOneHugeElementAndNoNans) {
  Random random(9);
  auto row = random.numbers<float>(80, -1, 1);
  row[17] = -3e38F;
  const Quantized got = quantize(row, 1);
  expect_rounded(as_doubles(row), got);
  EXPECT_EQ(gpu::to_float(got.elements[17]), -448.0F);
}

TEST(QuantizeRowsKernel, NormalizesToFp8) {
  Random random(10);
  constexpr int32_t kTokens = 3;
  for (const int32_t width : {16, 64, 576, 4096, 16384}) {
    SCOPED_TRACE(width);
    const auto in = random.numbers<float>(kTokens * width, -3, 3);
    const auto weight = random.numbers<float>(width, -2, 2);
    const NormWeight norm{weight.data(), 0.01F};
    const Quantized got = quantize_in_all_orders(kTokens, width, [&](Fp8* out, float* scales, void* stream) {
      return launch_rms_norm(
          RmsNormArgs<float, Fp8>{
              .in = in.data(), .norm = norm, .out = out, .scales = scales, .tokens = kTokens, .width = width},
          stream);
    });
    GuardedBuffer<float> exact(kTokens * width);
    const RmsNormArgs<float, float> args{
        .in = in.data(), .norm = norm, .out = exact.data(), .tokens = kTokens, .width = width};
    EXPECT_EQ(launch_rms_norm(args, nullptr), 0);
    expect_rounded(as_doubles(exact.take()), got, kRounding<float>);
  }
}

}  // namespace
}  // namespace sluice::engine::cuda
