#include "engine/cuda/weight_pieces.h"

#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/quant_scheme.h"
#include "tests/cuda/tensor_file.h"

namespace sluice::engine::cuda {
namespace {

std::vector<WeightCopy> copies_of(const std::vector<const TensorFile*>& files) {
  std::vector<WeightCopy> copies;
  for (const TensorFile* file : files) {
    for (const StoredTensor& tensor : file->tensors()) copies.push_back({.tensor = tensor});
  }
  return copies;
}

int64_t position(const WeightFragment& fragment) {
  const StoredTensor& tensor = fragment.copy->tensor;
  return tensor.data.data() - tensor.file->bytes().data() + fragment.first_byte;
}

/// Each tensor's bytes are there once, one after the other, and in the place that the piece says.
void expect_cover(const std::vector<WeightPiece>& pieces, const std::vector<WeightCopy>& copies, int64_t piece_bytes) {
  std::map<const WeightCopy*, int64_t> covered;
  for (const WeightPiece& piece : pieces) {
    ASSERT_FALSE(piece.fragments.empty());
    EXPECT_LE(piece.bytes, piece_bytes);
    EXPECT_EQ(piece.fragments.front().place, 0);
    for (const WeightFragment& fragment : piece.fragments) {
      const StoredTensor& tensor = fragment.copy->tensor;
      EXPECT_EQ(piece.file, tensor.file);
      EXPECT_GT(fragment.bytes, 0);
      EXPECT_GE(fragment.place, 0);
      EXPECT_EQ(fragment.bytes % traits_of(tensor.type).block_bytes, 0);
      EXPECT_LE(fragment.place + fragment.bytes, piece.bytes);
      EXPECT_EQ(fragment.first_byte, std::exchange(covered[fragment.copy], fragment.first_byte + fragment.bytes));
      EXPECT_EQ(piece.begin + fragment.place, tensor.file == nullptr ? fragment.first_byte : position(fragment));
    }
  }
  for (const WeightCopy& copy : copies) EXPECT_EQ(covered[&copy], copy.tensor.bytes());
}

TEST(WeightPieces, CoverTensorsOfAllTypesOnce) {
  const TemporaryFolder folder;
  TensorFile file(1);
  std::vector<TensorType> types(std::begin(kQuantizedTypes), std::end(kQuantizedTypes));
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBf16}) types.push_back(type);
  for (const TensorType type : types) file.add(type, traits_of(type).block_elements * int64_t{3}, 17, 5);
  file.map(folder, "file");
  const auto copies = copies_of({&file});
  for (const int64_t piece_bytes : {kPieceBytesMin, kPieceBytesMin + 1, int64_t{10'000}, int64_t{1} << 20}) {
    const auto pieces = cut_into_pieces(copies, piece_bytes);
    expect_cover(pieces, copies, piece_bytes);
    EXPECT_EQ(pieces.size() == 1, piece_bytes == int64_t{1} << 20);
  }
}

TEST(WeightPieces, GoByFilesAndFromTheirBeginnings) {
  const TemporaryFolder folder;
  TensorFile one(1);
  TensorFile two(2);
  for (TensorFile* file : {&one, &two}) {
    for (int i = 0; i < 4; ++i) file->add(TensorType::kBf16, 1000, 3);
  }
  one.map(folder, "model-00001-of-00002");
  two.map(folder, "model-00002-of-00002");
  std::vector<WeightCopy> copies = copies_of({&two, &one});
  std::swap(copies[0], copies[6]);
  std::swap(copies[1], copies[3]);
  const auto pieces = cut_into_pieces(copies, 4000);
  expect_cover(pieces, copies, 4000);
  std::vector<std::pair<std::string, int64_t>> order;
  for (const WeightPiece& piece : pieces) order.emplace_back(piece.file->path(), piece.begin);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_EQ(order.front().first, one.file().path());
  EXPECT_EQ(order.back().first, two.file().path());
}

TEST(WeightPieces, ReadSmallGapsAlong) {
  constexpr int64_t kGapMax = int64_t{64} << 10;
  for (const auto& [gap, count] : {std::pair(kGapMax, 1U), {kGapMax + 1, 2U}}) {
    const TemporaryFolder folder;
    TensorFile file(1);
    file.add(TensorType::kBf16, 10, 1);
    file.add(TensorType::kBf16, 10, 1, gap);
    file.map(folder, "file");
    const auto copies = copies_of({&file});
    const auto pieces = cut_into_pieces(copies, int64_t{1} << 20);
    expect_cover(pieces, copies, int64_t{1} << 20);
    EXPECT_EQ(pieces.size(), count);
  }
}

TEST(WeightPieces, TakeATensorAsOftenAsItIsWanted) {
  const TemporaryFolder folder;
  TensorFile file(1);
  file.add(TensorType::kF32, 1000, 5);
  file.map(folder, "file");
  auto copies = copies_of({&file, &file});
  copies.push_back({.tensor = file.tensors()[0].rows(1, 3)});
  expect_cover(cut_into_pieces(copies, 3000), copies, 3000);
  expect_cover(cut_into_pieces(copies, 1 << 20), copies, 1 << 20);
}

TEST(WeightPieces, HaveOneFragmentOfWhatLiesInNoFile) {
  const std::vector<std::byte> bytes(6000);
  const StoredTensor tensor{.name = "t", .type = TensorType::kF32, .shape = {500, 3}, .data = bytes};
  const std::vector<WeightCopy> copies = {{.tensor = tensor}, {.tensor = tensor}};
  const auto pieces = cut_into_pieces(copies, 4096);
  expect_cover(pieces, copies, 4096);
  EXPECT_EQ(pieces.size(), 4U);
}

TEST(WeightPieces, AreNoneOfNothing) {
  EXPECT_TRUE(cut_into_pieces({}, kPieceBytesMin).empty());
}

}  // namespace
}  // namespace sluice::engine::cuda
