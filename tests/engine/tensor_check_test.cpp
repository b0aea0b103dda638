#include "engine/tensor_check.h"

#include <cstring>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/gguf.h"
#include "engine/watched_checkpoint.h"
#include "tests/engine/gguf_builder.h"

namespace sluice::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A file with one F32 matrix of 1000 rows of 4 and one Q8_0 matrix of 3 rows of 32.
class TwoMatrices {
 public:
  TwoMatrices() : floats_(4000, 0.5F), quants_(3 * 34) {}

  float& value(size_t row, size_t column) { return floats_.at(row * 4 + column); }
  void set_scale(size_t row, uint16_t half) { std::memcpy(quants_.data() + row * 34, &half, sizeof(half)); }

  std::vector<std::byte> bytes() const {
    GgufBuilder builder;
    builder.tensor("a", {4, 1000}, 0, std::as_bytes(std::span(floats_)));
    builder.tensor("b", {32, 3}, 8, quants_);
    return builder.build();
  }

 private:
  std::vector<float> floats_;
  std::vector<std::byte> quants_;
};

std::string error_of(const TwoMatrices& matrices, int32_t threads) {
  const TemporaryFile written(matrices.bytes());
  const auto file = GgufFile::open(written.path());
  EXPECT_TRUE(file.ok()) << file.status();
  return check_tensor_values(*file, threads).message();
}

TEST(TensorCheck, PassesFiniteValues) {
  for (const int32_t threads : {1, 3}) EXPECT_EQ(error_of(TwoMatrices(), threads), "");
}

TEST(TensorCheck, NamesTheFirstRowThatIsNotFinite) {
  for (const int32_t threads : {1, 3}) {
    TwoMatrices matrices;
    matrices.value(999, 3) = std::numeric_limits<float>::infinity();
    EXPECT_THAT(error_of(matrices, threads), HasSubstr("tensor a has a value in row 999 "));
    matrices.value(500, 0) = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(error_of(matrices, threads), HasSubstr("tensor a has a value in row 500 "));
  }
}

TEST(TensorCheck, NamesAScaleThatIsNotFinite) {
  TwoMatrices matrices;
  matrices.set_scale(2, 0x7e00);
  EXPECT_THAT(error_of(matrices, 2), HasSubstr("tensor b has a value in row 2 "));
}

TEST(TensorCheck, AddsUpByType) {
  const TemporaryFile written(TwoMatrices().bytes());
  const auto file = GgufFile::open(written.path());
  ASSERT_TRUE(file.ok());
  const auto totals = tensor_totals(*file);
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(totals.at(TensorType::kF32).tensors, 1);
  EXPECT_EQ(totals.at(TensorType::kF32).elements, 4000);
  EXPECT_EQ(totals.at(TensorType::kF32).bytes, 16000);
  EXPECT_EQ(totals.at(TensorType::kQ8_0).bytes, 102);
  EXPECT_EQ(stored_bytes(*file), 16102);
}

TEST(WatchedTensors, TellEachPieceOnceItIsTakenOver) {
  const TemporaryFile written(TwoMatrices().bytes());
  const auto file = GgufFile::open(written.path());
  ASSERT_TRUE(file.ok());
  std::vector<int64_t> told;
  const WatchedTensors tensors(*file, [&told](int64_t bytes) { told.push_back(bytes); });
  EXPECT_NE(tensors.find_tensor("a"), nullptr);
  EXPECT_NE(tensors.find_tensor("a"), nullptr);
  EXPECT_EQ(tensors.find_tensor("c"), nullptr);
  tensors.tell_unread(0);
  EXPECT_NE(tensors.find_tensor("b"), nullptr);
  tensors.tell_unread(0);
  EXPECT_THAT(told, ElementsAre(16000, 16102));
}

TEST(WatchedTensors, TellNothingOfWhatIsStillToBeRead) {
  const TemporaryFile written(TwoMatrices().bytes());
  const auto file = GgufFile::open(written.path());
  ASSERT_TRUE(file.ok());
  std::vector<int64_t> told;
  const WatchedTensors tensors(*file, [&told](int64_t bytes) { told.push_back(bytes); });
  EXPECT_NE(tensors.find_tensor("a"), nullptr);
  tensors.drop_pages();
  tensors.tell_unread(16000);
  EXPECT_NE(tensors.find_tensor("b"), nullptr);
  tensors.tell_unread(16102);
  tensors.tell_unread(6000);
  tensors.tell_unread(0);
  EXPECT_THAT(told, ElementsAre(0, 0, 10102, 16102));
}

}  // namespace
}  // namespace sluice::engine
