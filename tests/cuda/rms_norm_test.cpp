#include "engine/cuda/kernels/rms_norm.cuh"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

constexpr int32_t kTokens = 3;
constexpr float kEpsilon = 0.01F;  // large enough to be missed

std::vector<double> as_doubles(const auto& values) {
  std::vector<double> result;
  for (const auto value : values) result.push_back(static_cast<double>(gpu::to_float(value)));
  return result;
}

std::vector<double> normalized(const std::vector<double>& rows, const std::vector<float>& weight, float epsilon) {
  std::vector<double> out = rows;
  const size_t width = weight.size();
  for (size_t begin = 0; begin < rows.size(); begin += width) {
    double squares = 0;
    for (size_t i = 0; i < width; ++i) squares += rows[begin + i] * rows[begin + i];
    const double root = std::sqrt(squares / static_cast<double>(width) + double{epsilon});
    for (size_t i = 0; i < width; ++i) out[begin + i] = rows[begin + i] / root * double{weight[i]};
  }
  return out;
}

template <typename T>
void expect_near(const std::vector<T>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const double tolerance = (std::fabs(expected[i]) + 0.1) * kRounding<T>;
    ASSERT_NEAR(static_cast<double>(gpu::to_float(values[i])), expected[i], tolerance) << "element " << i;
  }
}

template <typename In, typename Out>
void expect_norm(int32_t width, int64_t shift) {
  SCOPED_TRACE(testing::Message() << "width " << width << ", shift " << shift);
  Random random(5);
  const auto in = random.numbers<In>(kTokens * width, -3, 3);
  const auto weight = random.numbers<float>(width, -2, 2);
  const auto out = run_in_all_orders([&](void* stream) {
    GuardedBuffer<Out> buffer(kTokens * width, shift);
    const RmsNormArgs<In, Out> args{
        .in = in.data(), .norm = {weight.data(), kEpsilon}, .out = buffer.data(), .tokens = kTokens, .width = width};
    EXPECT_EQ(launch_rms_norm(args, stream), 0);
    return buffer.take();
  });
  expect_near(out, normalized(as_doubles(in), weight, kEpsilon));
}

TEST(RmsNormKernel, NormalizesRowsOfAnyWidth) {
  for (const int32_t width : {1, 5, 8, 64, 250, 576, 2048}) {
    for (const int64_t shift : {0, 1}) {
      expect_norm<float, gpu::Bf16>(width, shift);
      expect_norm<float, float>(width, shift);
      expect_norm<gpu::Bf16, gpu::Bf16>(width, shift);
    }
  }
}

TEST(RmsNormKernel, NormalizesRowsThatAThreadHasSeveralGroupsOf) {
  expect_norm<float, float>(4096, 0);
  expect_norm<float, float>(4097, 0);
  expect_norm<float, gpu::Bf16>(16384, 0);
}

struct AddCase {
  bool has_added_norm = false;
  bool has_out = true;
};

template <typename In, typename Out>
void expect_add_norm(int32_t width, int64_t shift, const AddCase& options) {
  SCOPED_TRACE(testing::Message() << "width " << width << ", shift " << shift << ", norm of the added "
                                  << options.has_added_norm << ", out " << options.has_out);
  Random random(6);
  const auto before = random.numbers<float>(kTokens * width, -3, 3);
  const auto added = random.numbers<In>(kTokens * width, -3, 3);
  const auto added_weight = random.numbers<float>(width, -2, 2);
  const auto weight = random.numbers<float>(width, -2, 2);
  GuardedBuffer<Out> out(kTokens * width, shift);
  const auto run = [&](void* stream) {
    GuardedBuffer<float> residual(kTokens * width, shift);
    residual.put(before);
    AddRmsNormArgs<In, Out> args{.residual = residual.data(),
                                 .added = added.data(),
                                 .norm = {weight.data(), kEpsilon},
                                 .tokens = kTokens,
                                 .width = width};
    if (options.has_added_norm) args.added_norm = {added_weight.data(), 3 * kEpsilon};
    if (options.has_out) args.out = out.data();
    EXPECT_EQ(launch_add_rms_norm(args, stream), 0);
    return residual.take();
  };
  const auto residual = run_in_all_orders(run);
  std::vector<double> expected = as_doubles(added);
  if (options.has_added_norm) expected = normalized(expected, added_weight, 3 * kEpsilon);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += double{before[i]};
  expect_near(residual, expected);
  if (!options.has_out) return;
  expect_near(out.take(), normalized(expected, weight, kEpsilon));
  run_in_all_orders([&](void* stream) {
    run(stream);
    return out.take();
  });
}

TEST(AddRmsNormKernel, AddsThenNormalizes) {
  for (const int32_t width : {3, 64, 253, 576}) {
    for (const int64_t shift : {0, 1}) {
      expect_add_norm<gpu::Bf16, gpu::Bf16>(width, shift, {});
      expect_add_norm<float, float>(width, shift, {});
    }
  }
}

TEST(AddRmsNormKernel, NormalizesWhatItAddsBefore) {
  for (const int32_t width : {3, 64, 253, 576}) {
    expect_add_norm<gpu::Bf16, gpu::Bf16>(width, 0, {.has_added_norm = true});
    expect_add_norm<float, float>(width, 1, {.has_added_norm = true, .has_out = false});
  }
  expect_add_norm<gpu::Bf16, float>(4104, 0, {.has_added_norm = true});
}

TEST(AddRmsNormKernel, AddsAlone) {
  expect_add_norm<gpu::Bf16, gpu::Bf16>(130, 0, {.has_out = false});
}

}  // namespace
}  // namespace sluice::engine::cuda
