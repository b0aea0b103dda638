#include "engine/cuda/device_weights.h"

#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/host_device.h"
#include "engine/quant_scheme.h"
#include "engine/random_rows.h"
#include "tests/cuda/rows_of_the_host.h"
#include "tests/cuda/tensor_file.h"

// Matrices that keep the blocks of their tensors, and those that can't.

namespace sluice::engine::cuda {
namespace {

/// Small, so that a matrix comes in many pieces.
const WeightLoaderOptions kSmall{.threads = 2, .piece_bytes = kPieceBytesMin};
const WeightForm kBlocks{.keeps_blocks = true};

std::vector<std::byte> stored_bytes(const StoredTensor& tensor) {
  std::vector<std::byte> made;
  const auto bytes = tensor.read_rows(0, tensor.row_count(), made);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> bf16_bytes(const StoredTensor& tensor) {
  const std::vector<std::byte> stored = stored_bytes(tensor);
  std::vector<float> values(static_cast<size_t>(tensor.row_length() * tensor.row_count()));
  dequantize(tensor.type, stored, values);
  std::vector<std::byte> bytes(2 * values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = float_to_bf16(values[i]);
    std::memcpy(&bytes[2 * i], &bits, sizeof(bits));
  }
  return bytes;
}

class KeptBlocks : public testing::Test {
 protected:
  std::vector<std::byte> take(const DeviceMatrix& matrix) {
    std::vector<std::byte> bytes(static_cast<size_t>(matrix.elements.bytes()));
    EXPECT_TRUE(device_.copy_out(bytes.data(), matrix.elements.as<void>(), matrix.elements.bytes()).ok());
    return bytes;
  }

  const TemporaryFolder folder_;
  HostDevice device_{int64_t{64} << 20};
};

TEST_F(KeptBlocks, AreTheFilesBytes) {
  TensorFile file(5);
  for (const TensorType type : kQuantizedTypes) {
    const int64_t length = traits_of(type).block_elements * int64_t{3};
    for (const int64_t rows : {1, 16, 7}) file.add(type, length, rows, 3);
    file.add(TensorType::kF16, 24, 9);  // is converted amid them
  }
  file.map(folder_, "file");
  DeviceWeights weights(device_, kBlocks, kSmall);
  const std::vector<StoredTensor>& tensors = file.tensors();
  int64_t bytes = 0;
  for (size_t at = 0; at < tensors.size(); at += 4) {
    const StoredTensor* const parts[] = {&tensors[at], &tensors[at + 1], &tensors[at + 2]};
    const StoredTensor* const other = &tensors[at + 3];
    ASSERT_TRUE(weights.add_matrix(parts).ok());
    ASSERT_TRUE(weights.add_matrix({&other, 1}).ok());
    for (const StoredTensor* part : parts) bytes += part->bytes();
    bytes += 24 * 9 * 2;
  }
  ASSERT_TRUE(weights.allocate().ok());
  EXPECT_EQ(weights.bytes(), bytes);
  EXPECT_EQ(device_.memory().total - device_.memory().free, bytes);
  int64_t unread = -1;
  ASSERT_TRUE(weights.finish([&](int64_t left) { unread = left; }).ok());
  EXPECT_EQ(unread, 0);
  for (size_t i = 0; i < weights.matrices().size(); i += 2) {
    const DeviceMatrix& matrix = weights.matrices()[i];
    SCOPED_TRACE(tensor_type_name(tensors[2 * i].type));
    EXPECT_EQ(matrix.blocks, tensors[2 * i].type);
    EXPECT_EQ(matrix.element, Element::kBf16);
    std::vector<std::byte> expected;
    for (size_t part = 0; part < 3; ++part) {
      const auto stored = stored_bytes(tensors[2 * i + part]);
      expected.insert(expected.end(), stored.begin(), stored.end());
    }
    EXPECT_TRUE(take(matrix) == expected);
    EXPECT_TRUE(take(weights.matrices()[i + 1]) == bf16_bytes(tensors[2 * i + 3]));
  }
}

TEST_F(KeptBlocks, AreWhatMakersMake) {
  const RandomRows rows(TensorType::kQ5_K, 768, {.mean = 0, .deviation = 0.5}, 7);
  const RowsOfTheHost host_rows(rows);
  for (const RowMaker* maker : {static_cast<const RowMaker*>(&rows), static_cast<const RowMaker*>(&host_rows)}) {
    const StoredTensor tensor{
        .name = "made", .type = TensorType::kQ5_K, .shape = {768, 21}, .data = {}, .maker = maker, .first_made_row = 9};
    const StoredTensor* const part = &tensor;
    DeviceWeights weights(device_, kBlocks, kSmall);
    const MatrixId id = weights.add_matrix({&part, 1}).value();
    ASSERT_TRUE(weights.allocate().ok());
    ASSERT_TRUE(weights.finish([](int64_t) {}).ok());
    EXPECT_EQ(weights.matrix(id).blocks, TensorType::kQ5_K);
    EXPECT_TRUE(take(weights.matrix(id)) == stored_bytes(tensor));
  }
}

TEST_F(KeptBlocks, AreNotOfFloatsOrTablesOrOfTensorsOfSeveralTypes) {
  TensorFile file(6);
  file.add(TensorType::kQ4_0, 64, 5);
  file.add(TensorType::kQ8_0, 64, 3);
  file.add(TensorType::kF32, 64, 2);
  file.add(TensorType::kBf16, 64, 2);
  file.map(folder_, "file");
  const std::vector<StoredTensor>& tensors = file.tensors();
  const std::vector<std::vector<const StoredTensor*>> all = {{&tensors[0], &tensors[1]},
                                                             {&tensors[0], &tensors[2]},
                                                             {&tensors[2]},
                                                             {&tensors[3], &tensors[3]},
                                                             {&tensors[1]}};  // a table
  DeviceWeights weights(device_, kBlocks, kSmall);
  std::vector<MatrixId> ids;
  for (const auto& parts : all) ids.push_back(weights.add_matrix(parts).value());
  EXPECT_EQ(weights.matrix(ids.back()).blocks, TensorType::kQ8_0);
  weights.keep_unrounded(ids.back());
  ASSERT_TRUE(weights.allocate().ok());
  ASSERT_TRUE(weights.finish([](int64_t) {}).ok());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(weights.matrix(ids[i]).blocks, std::nullopt) << i;
    std::vector<std::byte> expected;
    for (const StoredTensor* part : all[i]) {
      const auto bytes = bf16_bytes(*part);
      expected.insert(expected.end(), bytes.begin(), bytes.end());
    }
    EXPECT_TRUE(take(weights.matrix(ids[i])) == expected) << i;
  }
}

TEST_F(KeptBlocks, AreNotOfRowsThatEndWithinABlock) {
  const std::vector<std::byte> bytes(3 * 34);
  const StoredTensor whole{.name = "whole", .type = TensorType::kQ8_0, .shape = {96, 1}, .data = bytes};
  const StoredTensor halves{.name = "halves", .type = TensorType::kQ8_0, .shape = {48, 2}, .data = bytes};
  DeviceWeights weights(device_, kBlocks, kSmall);
  const StoredTensor* const parts[] = {&whole, &halves};
  EXPECT_EQ(weights.matrix(weights.add_matrix({&parts[0], 1}).value()).blocks, TensorType::kQ8_0);
  EXPECT_EQ(weights.matrix(weights.add_matrix({&parts[1], 1}).value()).blocks, std::nullopt);
}

TEST_F(KeptBlocks, StayBesideOthersInFp8) {
  TensorFile file(7);
  file.add(TensorType::kQ4_0, 64, 32);
  file.add(TensorType::kBf16, 64, 32);
  file.map(folder_, "file");
  DeviceWeights weights(device_, {.element = Element::kFp8, .keeps_blocks = true}, kSmall);
  for (const StoredTensor& tensor : file.tensors()) {
    const StoredTensor* const part = &tensor;
    ASSERT_TRUE(weights.add_matrix({&part, 1}).ok());
  }
  ASSERT_TRUE(weights.allocate().ok());
  ASSERT_TRUE(weights.finish([](int64_t) {}).ok());
  EXPECT_EQ(weights.matrices()[0].element, Element::kBf16);
  EXPECT_EQ(weights.matrices()[1].element, Element::kFp8);
  EXPECT_EQ(weights.bytes(), 2 * 18 * 32 + 64 * 32 + 4 * 32);
  EXPECT_TRUE(take(weights.matrices()[0]) == stored_bytes(file.tensors()[0]));
}

}  // namespace
}  // namespace sluice::engine::cuda
