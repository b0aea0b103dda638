#include "engine/cuda/kernels/gemv.cuh"

#include <cmath>
#include <span>

#include <gtest/gtest.h>

#include "engine/tensor_type.h"
#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

struct Shape {
  int32_t rows = 1;
  int32_t outputs = 1;
  int32_t length = 1;
  float beta = 0;
};

/// Weights as a kernel takes them, and the numbers they stand for.
template <typename Matrix>
struct Weights {
  Matrix matrix;
  std::vector<float> numbers;  // [outputs, length]
};

template <typename In, typename Out>
struct Input {
  Input(const Shape& shape, Random& random)
      : in(random.numbers<In>(int64_t{kGemvRowsMax} * shape.length)),
        added(random.numbers<Out>(int64_t{kGemvRowsMax} * shape.outputs)) {}

  std::vector<In> in;
  std::vector<Out> added;
};

template <typename Matrix, typename In, typename Out>
std::vector<Out> run_gemv(const Shape& shape, const Matrix& matrix, const Input<In, Out>& input, void* stream) {
  // No more rows than there are, so that a sanitizer sees what is read beyond.
  const std::vector<In> in(input.in.begin(), input.in.begin() + int64_t{shape.rows} * shape.length);
  GuardedBuffer<Out> out(int64_t{shape.rows} * shape.outputs);
  GemvArgs<In, Out> args{.in = in.data(),
                         .out = out.data(),
                         .rows = shape.rows,
                         .outputs = shape.outputs,
                         .length = shape.length,
                         .beta = shape.beta};
  if (shape.beta != 0) args.added = input.added.data();
  EXPECT_EQ(launch_gemv(matrix, args, stream), 0);
  return out.take();
}

template <typename Out, typename In>
void expect_products(const Shape& shape, const std::vector<float>& weights, const Input<In, Out>& input,
                     const std::vector<Out>& out) {
  for (int32_t m = 0; m < shape.rows; ++m) {
    for (int32_t n = 0; n < shape.outputs; ++n) {
      const int64_t at = int64_t{m} * shape.outputs + n;
      double expected = double{shape.beta} * value_of(input.added, at);
      double magnitude = std::fabs(expected);
      for (int32_t k = 0; k < shape.length; ++k) {
        const double product = value_of(input.in, int64_t{m} * shape.length + k) *
                               double{weights[static_cast<size_t>(int64_t{n} * shape.length + k)]};
        expected += product;
        magnitude += std::fabs(product);
      }
      const double tolerance = std::fabs(expected) * kRounding<Out> + magnitude * 1e-6;
      ASSERT_NEAR(value_of(out, at), expected, tolerance) << "row " << m << ", output " << n;
    }
  }
}

/// Also that what a row gets doesn't depend on how many there are.
template <typename In, typename Out, typename Matrix>
void expect_gemv(const Shape& largest, const Weights<Matrix>& weights, Random& random) {
  const Input<In, Out> input(largest, random);
  const auto whole = run_gemv(largest, weights.matrix, input, nullptr);
  for (const int32_t rows : {1, 2, 3, 7, 8}) {
    Shape shape = largest;
    shape.rows = rows;
    SCOPED_TRACE(testing::Message() << rows << " rows, " << shape.outputs << " outputs of " << shape.length);
    const auto out = run_in_all_orders([&](void* stream) { return run_gemv(shape, weights.matrix, input, stream); });
    expect_products(shape, weights.numbers, input, out);
    EXPECT_TRUE(is_same(out, std::vector<Out>(whole.begin(), whole.begin() + int64_t{rows} * shape.outputs)));
  }
}

TEST(GemvKernel, MultipliesBf16WeightsOfAnySize) {
  Random random(3);
  for (const int32_t length : {1, 8, 100, 264, 1027, 2056}) {
    for (const int32_t outputs : {1, 9}) {
      const auto elements = random.numbers<gpu::Bf16>(int64_t{outputs} * length);
      Weights<Bf16Matrix> weights{.matrix = {elements.data()}, .numbers = {}};
      for (const gpu::Bf16 element : elements) weights.numbers.push_back(gpu::to_float(element));
      expect_gemv<gpu::Bf16, gpu::Bf16>({.rows = 8, .outputs = outputs, .length = length}, weights, random);
      expect_gemv<float, float>({.rows = 8, .outputs = outputs, .length = length, .beta = 1.5F}, weights, random);
    }
  }
}

TEST(GemvKernel, AddsToItsOwnOutput) {
  Random random(4);
  const Shape shape{.rows = 3, .outputs = 10, .length = 512, .beta = 1};
  const auto elements = random.numbers<gpu::Bf16>(int64_t{shape.outputs} * shape.length);
  const Input<gpu::Bf16, float> input(shape, random);
  const auto apart = run_gemv(shape, Bf16Matrix{elements.data()}, input, nullptr);
  GuardedBuffer<float> residual(int64_t{shape.rows} * shape.outputs);
  residual.put({input.added.begin(), input.added.begin() + int64_t{shape.rows} * shape.outputs});
  const GemvArgs<gpu::Bf16, float> args{.in = input.in.data(),
                                        .added = residual.data(),
                                        .out = residual.data(),
                                        .rows = shape.rows,
                                        .outputs = shape.outputs,
                                        .length = shape.length};
  EXPECT_EQ(launch_gemv(Bf16Matrix{elements.data()}, args, nullptr), 0);
  EXPECT_TRUE(is_same(residual.take(), apart));
}

template <TensorType kType>
void expect_block_gemv() {
  SCOPED_TRACE(tensor_type_name(kType));
  Random random(static_cast<uint32_t>(kType));
  for (const int32_t blocks : {1, 5}) {
    const Shape shape{.rows = 8, .outputs = 5, .length = blocks * BlockFormat<kType>::kElements, .beta = 0.5F};
    const auto count = static_cast<size_t>(shape.outputs * blocks);
    std::vector<uint8_t> stored(count * BlockFormat<kType>::kBytes);
    // Exponents of halves up to 15: scales of at most 2.
    for (uint8_t& byte : stored) byte = static_cast<uint8_t>(random.integer(0, 255) & 0xbf);
    Weights<BlockMatrix<kType>> weights{.matrix = {stored.data()}, .numbers = {}};
    weights.numbers.resize(static_cast<size_t>(shape.outputs * shape.length));
    dequantize(kType, std::as_bytes(std::span(stored)), weights.numbers);
    expect_gemv<gpu::Bf16, float>(shape, weights, random);
    expect_gemv<float, gpu::Bf16>(shape, weights, random);
  }
}

TEST(GemvKernel, MultipliesQuantizedWeightsAsTheyAreStored) {
  expect_block_gemv<TensorType::kQ8_0>();
  expect_block_gemv<TensorType::kQ4_0>();
  expect_block_gemv<TensorType::kQ4_1>();
  expect_block_gemv<TensorType::kQ4_K>();
  expect_block_gemv<TensorType::kQ6_K>();
}

}  // namespace
}  // namespace sluice::engine::cuda
