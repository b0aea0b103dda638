#include "engine/cuda/kernels/grouped_product.cuh"

#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

/// Rows of some experts, and the experts' matrices.
template <typename Stored>
struct Groups {
  /// counts[e]: rows of expert e. `is_gathered`: what goes in is of tokens, of which there are fewer.
  Groups(const std::vector<int32_t>& counts, int32_t matrix_rows, int32_t row_length, bool is_gathered)
      : length(row_length), gathers(is_gathered) {
    Random random(5);
    int32_t rows = 0;
    for (const int32_t count : counts) rows += count;
    const int32_t tokens = is_gathered ? rows / 2 + 1 : rows;
    in = random.numbers<Stored>(int64_t{tokens} * length);
    for (const int32_t count : counts) {
      for (int32_t i = 0; i < count; ++i) {
        tokens_of.push_back(is_gathered ? random.integer(0, tokens - 1) : static_cast<int32_t>(tokens_of.size()));
        expert_of.push_back(static_cast<int32_t>(matrices.size()));
      }
      matrices.push_back(random.numbers<Stored>(int64_t{matrix_rows} * length));
    }
    for (const auto& matrix : matrices) addresses.push_back(matrix.data());
  }

  /// As GroupByExpert leaves them, with one that there isn't.
  std::vector<ExpertTile> tiles(int32_t tile_rows) const {
    std::vector<ExpertTile> result;
    for (int32_t row = 0; row < row_count(); ++row) {
      const int32_t expert = expert_of[static_cast<size_t>(row)];
      if (result.empty() || result.back().expert != expert || result.back().count == tile_rows)
        result.push_back({expert, row, 0});
      ++result.back().count;
    }
    result.push_back({});
    return result;
  }
  int32_t row_count() const { return static_cast<int32_t>(expert_of.size()); }

  template <bool kIsGated, typename Out>
  std::vector<Out> multiply(int32_t tile_rows, int32_t outputs, GateActivation activation) const {
    const std::vector<ExpertTile> own_tiles = tiles(tile_rows);
    return run_in_all_orders([&](void* stream) {
      GuardedBuffer<Out> out(int64_t{row_count()} * outputs);
      const GroupedProductArgs<Stored, Out> args{.in = in.data(),
                                                 .tokens_of = gathers ? tokens_of.data() : nullptr,
                                                 .matrices = addresses.data(),
                                                 .tiles = own_tiles.data(),
                                                 .out = out.data(),
                                                 .tile_count = static_cast<int32_t>(own_tiles.size()),
                                                 .outputs = outputs,
                                                 .length = length,
                                                 .activation = activation};
      EXPECT_EQ(launch_grouped_product<kIsGated>(args, tile_rows, stream), 0);
      return out.take();
    });
  }

  /// What row's expert's matrix row gives, and the sum of magnitudes.
  std::pair<double, double> dot(int32_t row, int32_t matrix_row) const {
    const auto& matrix = matrices[static_cast<size_t>(expert_of[static_cast<size_t>(row)])];
    const int64_t token = tokens_of[static_cast<size_t>(row)];
    double sum = 0;
    double magnitude = 0;
    for (int32_t k = 0; k < length; ++k) {
      const double part = value_of(in, token * length + k) * value_of(matrix, int64_t{matrix_row} * length + k);
      sum += part;
      magnitude += std::fabs(part);
    }
    return {sum, magnitude};
  }

  int32_t length;
  bool gathers;
  std::vector<Stored> in;
  std::vector<int32_t> tokens_of;
  std::vector<int32_t> expert_of;  // [rows]
  std::vector<std::vector<Stored>> matrices;
  std::vector<const Stored*> addresses;
};

template <typename Stored>
void expect_products(const std::vector<int32_t>& counts, int32_t outputs, int32_t length, int32_t tile_rows) {
  SCOPED_TRACE(testing::Message() << outputs << " outputs of " << length << ", tiles of " << tile_rows);
  const Groups<Stored> groups(counts, outputs, length, /*is_gathered=*/false);
  const auto out = groups.template multiply<false, float>(tile_rows, outputs, GateActivation::kSilu);
  for (int32_t row = 0; row < groups.row_count(); ++row) {
    for (int32_t output = 0; output < outputs; ++output) {
      const auto [sum, magnitude] = groups.dot(row, output);
      ASSERT_NEAR(value_of(out, int64_t{row} * outputs + output), sum, magnitude * 2e-6 + 1e-6)
          << "row " << row << ", output " << output;
    }
  }
}

double activated(GateActivation activation, double x) {
  if (activation == GateActivation::kSilu) return x / (1 + std::exp(-x));
  const double pi = std::acos(-1.0);
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
}

template <typename Stored>
void expect_gated(const std::vector<int32_t>& counts, int32_t outputs, int32_t length, int32_t tile_rows,
                  GateActivation activation) {
  SCOPED_TRACE(testing::Message() << outputs << " outputs of " << length << ", tiles of " << tile_rows);
  const Groups<Stored> groups(counts, 2 * outputs, length, /*is_gathered=*/true);
  const auto out = groups.template multiply<true, Stored>(tile_rows, outputs, activation);
  for (int32_t row = 0; row < groups.row_count(); ++row) {
    for (int32_t output = 0; output < outputs; ++output) {
      const double up = groups.dot(row, outputs + output).first;
      const double expected = activated(activation, groups.dot(row, output).first) * up;
      const double limit = std::fabs(expected) * kRounding<Stored> + 2e-5 * (1 + std::fabs(up));
      ASSERT_NEAR(value_of(out, int64_t{row} * outputs + output), expected, limit)
          << "row " << row << ", output " << output;
    }
  }
}

TEST(GroupedProductKernel, MultipliesEachRowByItsExpertsMatrix) {
  for (const auto& [outputs, length] : {std::pair{1, 8}, {64, 64}, {67, 96}, {130, 200}, {5, 13}, {16, 61}}) {
    expect_products<gpu::Bf16>({3, 0, 17, 1}, outputs, length, kFewTileRows);
    expect_products<float>({3, 0, 17, 1}, outputs, length, kFewTileRows);
  }
  for (const auto& [outputs, length] : {std::pair{128, 64}, {131, 200}, {5, 13}})
    expect_products<gpu::Bf16>({70, 0, 0, 1}, outputs, length, kManyTileRows);
}

TEST(GroupedProductKernel, GatesWhatItGathers) {
  for (const auto& [outputs, length] : {std::pair{1, 8}, {32, 64}, {35, 200}, {9, 13}}) {
    for (const GateActivation activation : {GateActivation::kSilu, GateActivation::kGeluTanh}) {
      expect_gated<gpu::Bf16>({2, 18, 0, 1}, outputs, length, kFewTileRows, activation);
      expect_gated<float>({2, 18, 0, 1}, outputs, length, kFewTileRows, activation);
    }
  }
  expect_gated<gpu::Bf16>({70, 0, 3}, 67, 72, kManyTileRows, GateActivation::kSilu);
}

TEST(GroupedProductKernel, GivesARowTheSameInTilesOfAnySize) {
  const Groups<gpu::Bf16> groups({40, 3}, 2 * 33, 136, true);
  const auto few = groups.multiply<true, gpu::Bf16>(kFewTileRows, 33, GateActivation::kSilu);
  EXPECT_TRUE(is_same(few, groups.multiply<true, gpu::Bf16>(kManyTileRows, 33, GateActivation::kSilu)));
}

TEST(GroupedProductKernel, TakesLargeTilesWhereExpertsHaveManyRows) {
  EXPECT_EQ(grouped_tile_rows<gpu::Bf16>(16 * 8, 8), kFewTileRows);
  EXPECT_EQ(grouped_tile_rows<gpu::Bf16>(16 * 8 + 1, 8), kManyTileRows);
  EXPECT_EQ(grouped_tile_rows<float>(1 << 20, 8), kFewTileRows);
}

}  // namespace
}  // namespace sluice::engine::cuda
