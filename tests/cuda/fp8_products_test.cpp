#include <cmath>
#include <cstring>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cuda/device_weights.h"
#include "engine/cuda/host_device.h"
#include "tests/cuda/failing_device.h"
#include "tests/cuda/kernel_data.h"

// Products in e4m3, and weights on their way to them.

namespace sluice::engine::cuda {
namespace {

using gpu::Fp8;

class Fp8Products : public testing::Test {
 protected:
  template <typename T>
  T* put(const std::vector<T>& values) {
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
    buffers_.push_back(DeviceBuffer::allocate(device_, bytes, "a test").value());
    EXPECT_TRUE(device_.copy_in(buffers_.back().as<void>(), values.data(), bytes).ok());
    return buffers_.back().as<T>();
  }
  template <typename T>
  std::vector<T> take(const T* from, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(device_.copy_out(values.data(), from, static_cast<int64_t>(count * sizeof(T))).ok());
    return values;
  }

  Random random_{12};
  HostDevice device_{int64_t{64} << 20};
  std::vector<DeviceBuffer> buffers_;
};

/// Products of two e4m3 are exact in float. Sums of n of them lose n * 2^-24 of their magnitudes at most, scales and
/// the last addition a few roundings more.
double product_limit(double magnitude, double before, int32_t inputs) {
  return magnitude * (inputs + 8) * 0x1p-24 + std::abs(before) * 0x1p-22;
}

TEST_F(Fp8Products, AreThoseOfTheNumbersThatRowsStandFor) {
  constexpr int32_t kRows = 3;
  constexpr int32_t kOutputs = 32;
  for (const int32_t inputs : {16, 48, 1040}) {
    const auto in = random_.numbers<Fp8>(kRows * inputs, -448, 448);
    const auto matrix = random_.numbers<Fp8>(kOutputs * inputs, -448, 448);
    const auto in_scales = random_.numbers<float>(kRows, 0.001F, 2);
    const auto matrix_scales = random_.numbers<float>(kOutputs, 0.001F, 2);
    const auto before = random_.numbers<float>(kRows * kOutputs, -9, 9);
    for (const bool adds : {false, true}) {
      float* out = put(before);
      ASSERT_TRUE(device_
                      .multiply({.rows = kRows,
                                 .outputs = kOutputs,
                                 .inputs = inputs,
                                 .element = Element::kFp8,
                                 .in = put(in),
                                 .matrix = put(matrix),
                                 .in_scales = put(in_scales),
                                 .matrix_scales = put(matrix_scales),
                                 .out = out,
                                 .adds = adds})
                      .ok());
      const auto got = take(out, before.size());
      for (int32_t m = 0; m < kRows; ++m) {
        for (int32_t n = 0; n < kOutputs; ++n) {
          const double added = adds ? value_of(before, m * kOutputs + n) : 0;
          const double scale = value_of(in_scales, m) * value_of(matrix_scales, n);
          double sum = 0;
          double magnitude = 0;
          for (int32_t k = 0; k < inputs; ++k) {
            const double product = value_of(in, m * inputs + k) * value_of(matrix, n * inputs + k) * scale;
            sum += product;
            magnitude += std::abs(product);
          }
          ASSERT_NEAR(value_of(got, m * kOutputs + n), added + sum, product_limit(magnitude, added, inputs));
        }
      }
    }
  }
}

/// A matrix of floats that lies in no file.
StoredTensor tensor_of(const std::vector<float>& values, int64_t length) {
  const auto bytes = std::as_bytes(std::span(values));
  return {.name = "a test's",
          .type = TensorType::kF32,
          .shape = {length, static_cast<int64_t>(values.size()) / length},
          .data = bytes};
}

TEST_F(Fp8Products, TakeWeightsRoundedRowByRow) {
  constexpr int32_t kLength = 64;
  constexpr int32_t kRows = 32;
  auto values = random_.numbers<float>(kRows * kLength, -0.1F, 0.1F);
  for (float& value : values) value = gpu::to_float(gpu::from_float<gpu::Bf16>(value));
  std::fill_n(values.begin() + 3 * kLength, kLength, 0.0F);
  values[5 * kLength + 9] = 0x1p100F;
  const std::vector<float> first(values.begin(), values.begin() + 16 * kLength);
  const std::vector<float> second(values.begin() + 16 * kLength, values.end());
  const StoredTensor parts[] = {tensor_of(first, kLength), tensor_of(second, kLength)};
  const StoredTensor* const pointers[] = {&parts[0], &parts[1]};

  DeviceWeights weights(device_, {.element = Element::kFp8});
  const MatrixId id = weights.add_matrix(pointers).value();
  ASSERT_TRUE(weights.allocate().ok());
  int64_t unread = weights.unread_bytes();
  EXPECT_EQ(unread, static_cast<int64_t>(values.size() * sizeof(float)));
  ASSERT_TRUE(weights.finish([&](int64_t bytes) { unread = bytes; }).ok());
  EXPECT_EQ(unread, 0);

  const DeviceMatrix& matrix = weights.matrix(id);
  ASSERT_EQ(matrix.element, Element::kFp8);
  EXPECT_EQ(weights.bytes(), kRows * kLength + kRows * 4);
  const auto elements = take(matrix.elements.as<const Fp8>(), values.size());
  const auto scales = take(matrix.scales.as<const float>(), kRows);
  for (int32_t i = 0; i < kRows * kLength; ++i) {
    const double scale = value_of(scales, i / kLength);
    const double exact = value_of(values, i);
    const double limit = std::max(std::abs(exact) * (0x1p-4 + 0x1p-22), scale * 0x1p-10);
    ASSERT_NEAR(value_of(elements, i) * scale, exact, limit) << "row " << i / kLength;
  }
}

TEST_F(Fp8Products, LeaveTablesAndOddMatricesInBf16) {
  const auto values = random_.numbers<float>(40 * 48, -1, 1);
  const std::vector<float> even_values(values.begin(), values.begin() + 32 * 48);
  const StoredTensor even = tensor_of(even_values, 48);
  const StoredTensor odd_rows = tensor_of(values, 48);    // 40
  const StoredTensor odd_length = tensor_of(values, 40);  // 48 rows
  DeviceWeights weights(device_, {.element = Element::kFp8});
  const StoredTensor* const each[] = {&even, &even, &odd_rows, &odd_length};
  std::vector<MatrixId> ids;
  for (const StoredTensor* const& tensor : each) ids.push_back(weights.add_matrix({&tensor, 1}).value());
  weights.keep_unrounded(ids[0]);
  ASSERT_TRUE(weights.allocate().ok());
  ASSERT_TRUE(weights.finish([](int64_t) {}).ok());
  EXPECT_EQ(weights.matrix(ids[1]).element, Element::kFp8);
  for (const MatrixId id : {ids[0], ids[2], ids[3]}) {
    const DeviceMatrix& matrix = weights.matrix(id);
    ASSERT_EQ(matrix.element, Element::kBf16);
    const auto count = static_cast<size_t>(matrix.rows * matrix.length);
    const auto got = take(matrix.elements.as<const gpu::Bf16>(), count);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(got[i].bits, gpu::from_float<gpu::Bf16>(values[i]).bits);
    }
  }
}

TEST_F(Fp8Products, AreRefusedByADeviceWithoutThem) {
  FailingDevice other(device_, 1000);  // which has what any device has
  DeviceWeights weights(other, {.element = Element::kFp8});
  const auto values = random_.numbers<float>(16 * 16);
  const StoredTensor tensor = tensor_of(values, 16);
  const StoredTensor* const part = &tensor;
  const auto refused = weights.add_matrix({&part, 1});
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      refused.status().message(),
      testing::HasSubstr("no products of fp8 with a scale for each row; use engine.cuda_weights bf16 or stored"));
}

}  // namespace
}  // namespace sluice::engine::cuda
