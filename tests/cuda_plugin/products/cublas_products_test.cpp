#include "engine/cuda/toolkit/cublas_products.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "engine/cuda/host_device.h"
#include "engine/cuda/simt/simt_numbers.h"
#include "tests/cuda_plugin/products/imagined_cublas.h"

namespace sluice::engine::cuda {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Bytes of an element's number.
void put(Element element, float value, std::byte* to) {
  const uint16_t bf16 = gpu::simt::float_to_bf16(value);
  const uint8_t fp8 = gpu::simt::float_to_fp8(value);
  if (element == Element::kF32) std::memcpy(to, &value, sizeof(value));
  if (element == Element::kBf16) std::memcpy(to, &bf16, sizeof(bf16));
  if (element == Element::kFp8) std::memcpy(to, &fp8, sizeof(fp8));
}

/// Operands of small whole numbers, whose products are exact in every element.
class CublasProductsTest : public testing::Test {
 protected:
  void make(const ProductOptions& options = {}) {
    Result<std::unique_ptr<CublasProducts>> made = CublasProducts::create(device_, options);
    ASSERT_TRUE(made.ok()) << made.status();
    products_ = std::move(made).value();
  }

  DeviceBuffer memory(int64_t bytes) { return DeviceBuffer::allocate(device_, bytes, "a test").value(); }

  /// As many numbers as `count`, from `shift` elements on.
  void* numbers(Element element, int64_t count, uint64_t seed, int64_t shift = 0) {
    kept_.push_back(memory((count + shift) * element_bytes(element)));
    std::byte* const begin = kept_.back().as<std::byte>() + shift * element_bytes(element);
    for (int64_t i = 0; i < count; ++i) {
      put(element, whole(seed, i), begin + i * element_bytes(element));
    }
    return begin;
  }
  static float whole(uint64_t seed, int64_t i) {
    return static_cast<float>(random_bits(seed, static_cast<uint64_t>(i)) % 9) - 4;
  }

  Product product(int32_t rows, int32_t outputs, int32_t inputs, Element element) {
    const bool is_fp8 = element == Element::kFp8;
    return {.rows = rows,
            .outputs = outputs,
            .inputs = inputs,
            .element = element,
            .in = numbers(element, int64_t{rows} * inputs, 1),
            .matrix = numbers(element, int64_t{outputs} * inputs, 2),
            .in_scales = is_fp8 ? static_cast<float*>(numbers(Element::kF32, rows, 3)) : nullptr,
            .matrix_scales = is_fp8 ? static_cast<float*>(numbers(Element::kF32, outputs, 4)) : nullptr,
            .bias = nullptr,
            .out = static_cast<float*>(numbers(Element::kF32, int64_t{rows} * outputs, 5)),
            .adds = false};
  }

  /// What Product says, of the numbers above.
  void expect_right(const Product& of) {
    for (int32_t row = 0; row < of.rows; ++row) {
      for (int32_t output = 0; output < of.outputs; ++output) {
        float sum = 0;
        for (int32_t k = 0; k < of.inputs; ++k) {
          sum += whole(1, int64_t{row} * of.inputs + k) * whole(2, int64_t{output} * of.inputs + k);
        }
        if (of.element == Element::kFp8) sum *= whole(3, row) * whole(4, output);
        const int64_t at = int64_t{row} * of.outputs + output;
        if (of.adds) sum += whole(5, at);
        if (of.bias != nullptr) sum += of.bias[output];
        ASSERT_EQ(of.out[at], sum) << "row " << row << ", output " << output;
      }
    }
  }

  ImaginedCublas& cublas_ = new_imagined_cublas();
  HostDevice device_{int64_t{256} << 20};
  std::vector<DeviceBuffer> kept_;
  std::unique_ptr<CublasProducts> products_;
};

TEST_F(CublasProductsTest, MultiplyRowsWithTheRowsOfAMatrix) {
  make();
  for (const Element element : {Element::kF32, Element::kBf16, Element::kFp8}) {
    for (const bool adds : {false, true}) {
      Product of = product(3, 32, 48, element);
      of.adds = adds;
      const Status done = products_->multiply(of);
      ASSERT_TRUE(done.ok()) << done;
      expect_right(of);
    }
  }
}

TEST_F(CublasProductsTest, AddABias) {
  make();
  Product of = product(5, 24, 16, Element::kBf16);
  of.bias = static_cast<const float*>(numbers(Element::kF32, 24, 6));
  ASSERT_TRUE(products_->multiply(of).ok());
  expect_right(of);
}

TEST_F(CublasProductsTest, TakeMatricesOfAnySize) {
  make();
  for (const auto& [rows, outputs, inputs] : {std::array{1, 1, 1}, std::array{7, 5, 3}, std::array{2, 33, 64}}) {
    const Product of = product(rows, outputs, inputs, Element::kBf16);
    ASSERT_TRUE(products_->multiply(of).ok());
    expect_right(of);
  }
  EXPECT_TRUE(products_->multiply({.outputs = 4, .inputs = 4}).ok());
}

TEST_F(CublasProductsTest, AskOnceForRowsUpToAPowerOfTwo) {
  make();
  for (const int32_t rows : {5, 8, 6, 9, 5}) ASSERT_TRUE(products_->multiply(product(rows, 8, 8, Element::kBf16)).ok());
  ASSERT_EQ(cublas_.questions.size(), 2U);
  EXPECT_EQ(cublas_.questions[0].rows, 8);
  EXPECT_EQ(cublas_.questions[1].rows, 16);
}

TEST_F(CublasProductsTest, AskForJustAsManyRowsWhereTheAlgorithmTakesNoFewer) {
  make();
  cublas_.takes_fewer_rows = false;
  for (const int32_t rows : {5, 8, 5}) {
    const Product of = product(rows, 8, 8, Element::kBf16);
    const Status done = products_->multiply(of);
    ASSERT_TRUE(done.ok()) << done;
    expect_right(of);
  }
  ASSERT_EQ(cublas_.questions.size(), 2U);
  EXPECT_EQ(cublas_.questions[0].rows, 8);
  EXPECT_EQ(cublas_.questions[1].rows, 5);
}

TEST_F(CublasProductsTest, TakeNoOtherAlgorithmWhereBatchesAreNotToShow) {
  make({.is_batch_invariant = true});
  cublas_.takes_fewer_rows = false;
  EXPECT_EQ(products_->multiply(product(5, 8, 8, Element::kBf16)).code(), StatusCode::kInternal);
  EXPECT_EQ(cublas_.questions.size(), 1U);
}

TEST_F(CublasProductsTest, DoNotAskForWhatWasPrepared) {
  make();
  Product of = product(6, 8, 8, Element::kBf16);
  products_->prepare(of);
  ASSERT_EQ(cublas_.questions.size(), 1U);
  ASSERT_TRUE(products_->multiply(of).ok());
  of.adds = true;  // is no other kind
  products_->prepare(of);
  EXPECT_EQ(cublas_.questions.size(), 1U);
  of.adds = false;
  of.bias = static_cast<const float*>(numbers(Element::kF32, 8, 6));
  products_->prepare(of);
  EXPECT_EQ(cublas_.questions.size(), 2U);
}

// An odd vocabulary, say, has rows of logits at odd places.
TEST_F(CublasProductsTest, TellHowEachOperandIsAligned) {
  make();
  ASSERT_TRUE(products_->multiply(product(2, 33, 64, Element::kBf16)).ok());
  EXPECT_THAT(cublas_.questions.back().alignments, ElementsAre(128, 128, 4, 4));
  Product of = product(2, 64, 8, Element::kF32);
  of.in = numbers(Element::kF32, 16, 1, 1);
  ASSERT_TRUE(products_->multiply(of).ok());
  expect_right(of);
  EXPECT_THAT(cublas_.questions.back().alignments, ElementsAre(32, 4, 256, 256));
}

TEST_F(CublasProductsTest, TellHowABiasIsAligned) {
  make();
  Product of = product(2, 32, 32, Element::kBf16);
  for (const int64_t shift : {0, 4, 1}) {
    of.bias = static_cast<const float*>(numbers(Element::kF32, 32, 6, shift));
    ASSERT_TRUE(products_->multiply(of).ok());
    EXPECT_TRUE(cublas_.questions.back().has_bias);
    EXPECT_EQ(cublas_.questions.back().bias_alignment, shift == 0 ? 256U : 4U * static_cast<uint32_t>(shift));
    EXPECT_THAT(cublas_.questions.back().alignments, ElementsAre(64, 64, 128, 128));
  }
  EXPECT_EQ(cublas_.questions.size(), 3U);
}

TEST_F(CublasProductsTest, SplitNoSumWhereBatchesAreNotToShow) {
  cublas_.split_counts = {4, -1, 1};
  make({.is_batch_invariant = true});
  for (const int32_t rows : {1, 3, 100}) ASSERT_TRUE(products_->multiply(product(rows, 8, 8, Element::kBf16)).ok());
  ASSERT_EQ(cublas_.questions.size(), 1U);
  EXPECT_FALSE(cublas_.questions[0].may_split);
  EXPECT_EQ(cublas_.questions[0].rows, 2048);
  EXPECT_THAT(cublas_.splits_run, Each(1));
  make();
  ASSERT_TRUE(products_->multiply(product(1, 8, 8, Element::kBf16)).ok());
  EXPECT_TRUE(cublas_.questions.back().may_split);
  EXPECT_EQ(cublas_.splits_run.back(), 4);
}

TEST_F(CublasProductsTest, SayWhereThereIsNoAlgorithm) {
  make({.is_batch_invariant = true});
  const Product of = product(2, 24, 16, Element::kBf16);
  const Status none = failed_precondition("cuBLASLt has no algorithm for products of 16 inputs and 24 outputs");
  for (const std::vector<int32_t>& counts : {std::vector<int32_t>{}, std::vector<int32_t>{4, 2}}) {
    cublas_.split_counts = counts;
    EXPECT_EQ(products_->multiply(of), none);
  }
  cublas_.split_counts = {};
  cublas_.asked_result = CUBLAS_STATUS_NOT_SUPPORTED;  // the other way to say so
  EXPECT_EQ(products_->multiply(of), none);
  EXPECT_EQ(products_->check_fp8().code(), StatusCode::kFailedPrecondition);
  cublas_.asked_result = CUBLAS_STATUS_SUCCESS;
  cublas_.split_counts = {1};
  EXPECT_TRUE(products_->multiply(of).ok());
  EXPECT_TRUE(products_->check_fp8().ok());
}

TEST_F(CublasProductsTest, TellEveryFailureInCublasWords) {
  make();
  const Product of = product(2, 16, 16, Element::kFp8);
  for (const char* call : {"describe", "ask", "multiply"}) {
    cublas_.failing_call = call;
    const Status failed = products_->multiply(of);
    EXPECT_EQ(failed.code(), StatusCode::kInternal) << call;
    EXPECT_THAT(failed.message(), HasSubstr("imagined failure (cuBLASLt status 14)"));
  }
  cublas_.failing_call = "create";
  EXPECT_EQ(CublasProducts::create(device_, {}).status().code(), StatusCode::kInternal);
  cublas_.failing_call = "";
  products_.reset();
  EXPECT_EQ(cublas_.open_handles, 0);
}

}  // namespace
}  // namespace sluice::engine::cuda
