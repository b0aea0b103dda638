#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "engine/backend.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/cpu_isa.h"
#include "engine/quant_scheme.h"
#include "engine/stored_tensor.h"
#include "engine/tensor_type.h"
#include "tests/engine/backend_batch.h"
#include "tests/engine/quantized_data.h"

// Products of every quantised type, on every instruction set, against a float64 reference. How far they may be off
// follows from how they are defined, and from nothing else.

namespace sluice::engine {
namespace {

/// What activations are rounded to before they are multiplied.
enum class Rounding { kNone, kInt8, kBf16 };

/// Rows [row_count][length].
struct QuantizedMatrix {
  TensorType type;
  int32_t row_count;
  int32_t length;
  std::vector<std::byte> bytes;
  std::vector<float> values;
  std::vector<float> zeros;  ///< what the quant 0 stands for in each place

  QuantizedMatrix(TensorType type, int32_t row_count, int32_t length, Random& random)
      : type(type),
        row_count(row_count),
        length(length),
        bytes(static_cast<size_t>(tensor_bytes(type, int64_t{row_count} * length))),
        values(static_cast<size_t>(row_count) * static_cast<size_t>(length)),
        zeros(values.size()) {
    fill_blocks(type, random, bytes);
    dequantize(type, bytes, values);
    std::vector<std::byte> cleared = bytes;
    const StoredBlock places = stored_block(type);
    const auto block_bytes = static_cast<size_t>(traits_of(type).block_bytes);
    for (size_t block = 0; block < cleared.size(); block += block_bytes) {
      std::fill(cleared.begin() + static_cast<int64_t>(block + places.quants_begin),
                cleared.begin() + static_cast<int64_t>(block + places.quants_end), std::byte{0});
    }
    dequantize(type, cleared, zeros);
  }
};

/// The largest of each 32, by which activations are quantised.
std::vector<double> tops_of(const float* x, int32_t length) {
  std::vector<double> tops(static_cast<size_t>(length / kQuantBlock));
  for (int32_t k = 0; k < length; ++k) {
    double& top = tops[static_cast<size_t>(k / kQuantBlock)];
    top = std::max(top, std::abs(double{x[k]}));
  }
  return tops;
}

/// The exact product of row `row` with x, and how far from it a kernel may be:
/// - 8-bit activations are off by half of a step, top / 127, each; a step more or less of float32 in that step is
/// nothing
///   beside it;
/// - bfloat16 has eight bits, so both a weight and its x are off by up to 2^-8 of themselves;
/// - a sum of n terms in float32 is off by n * 2^-24 of the sum of their sizes. Terms are, per block or half of one,
///   d * q * x and, apart from it, what the quant 0 stands for.
struct Product {
  double value = 0;
  double allowed = 0;
};

Product product_of(const QuantizedMatrix& matrix, int32_t row, const float* x, Rounding rounding) {
  const std::vector<double> tops = tops_of(x, matrix.length);
  Product product;
  double terms = 0;
  for (int32_t k = 0; k < matrix.length; ++k) {
    const auto at = static_cast<size_t>(row) * static_cast<size_t>(matrix.length) + static_cast<size_t>(k);
    const double w = double{matrix.values[at]};
    const double zero = double{matrix.zeros[at]};
    const double top = tops[static_cast<size_t>(k / kQuantBlock)];
    product.value += w * double{x[k]};
    // |x| as it was quantised is below top.
    terms += (std::abs(w - zero) + std::abs(zero)) * top;
    if (rounding == Rounding::kInt8) product.allowed += std::abs(w) * top / 127 / 2 * (1 + 0x1p-10);
    if (rounding == Rounding::kBf16) product.allowed += std::abs(w * double{x[k]}) * (0x1p-7 + 0x1p-16);
  }
  const double additions = rounding == Rounding::kInt8 ? 4.0 * matrix.length / kQuantBlock + 4 : matrix.length + 4;
  product.allowed += additions * 0x1p-24 * terms;
  return product;
}

class QuantizedProducts : public ::testing::TestWithParam<std::tuple<CpuIsa, TensorType>> {
 protected:
  CpuIsa isa() const { return std::get<0>(GetParam()); }
  TensorType type() const { return std::get<1>(GetParam()); }

  /// Rounded how activations of drawn tokens, or of a prompt's, are on this instruction set.
  Rounding rounding_of(bool is_prompt) const {
    if (isa() == CpuIsa::kPortable) return Rounding::kNone;
    return isa() == CpuIsa::kAmx && is_prompt ? Rounding::kBf16 : Rounding::kInt8;
  }

  /// out [columns][rows] = x [columns][length] * matrix, as the backend computes it.
  std::vector<float> multiply(const QuantizedMatrix& matrix, const std::vector<float>& x, bool is_prompt) {
    const auto columns = static_cast<int32_t>(x.size()) / matrix.length;
    const auto backend = make_cpu_backend({.threads = 2, .isa = std::string(cpu_isa_name(isa()))}).value();
    const StoredTensor tensor{
        .name = "test", .type = matrix.type, .shape = {matrix.length, matrix.row_count}, .data = matrix.bytes};
    const MatrixId id = backend->add_matrix({{&tensor}}).value();
    const ActivationId in = backend->add_activation(columns, matrix.length).value();
    const ActivationId out = backend->add_activation(columns, matrix.row_count).value();
    std::vector<float> result(static_cast<size_t>(columns) * static_cast<size_t>(matrix.row_count));
    backend->write(in, x);
    backend->write(out, result);
    Batch batch = make_batch({{{0}, 0, columns}}, columns);
    batch.decode_rows = is_prompt ? 0 : columns;
    backend->begin_step(batch);
    backend->matmul_add(out, in, id);
    backend->read(out, result);
    return result;
  }

  void expect_close(const QuantizedMatrix& matrix, const std::vector<float>& x, bool is_prompt) {
    const std::vector<float> got = multiply(matrix, x, is_prompt);
    for (size_t i = 0; i < got.size(); ++i) {
      const auto row = static_cast<int32_t>(i % static_cast<size_t>(matrix.row_count));
      const size_t column = i / static_cast<size_t>(matrix.row_count);
      const Product wanted =
          product_of(matrix, row, &x[column * static_cast<size_t>(matrix.length)], rounding_of(is_prompt));
      ASSERT_LE(std::abs(double{got[i]} - wanted.value), wanted.allowed)
          << got[i] << " is not " << wanted.value << " in row " << row << " of column " << column;
    }
  }

  Random random_{32};
};

TEST_P(QuantizedProducts, AreWithinWhatRoundingActivationsAllows) {
  const int32_t length = 3 * traits_of(type()).block_elements;
  const QuantizedMatrix matrix(type(), 37, length, random_);
  for (const bool is_prompt : {false, true}) {
    for (const int32_t columns : {1, 2, 3, 7, 8, 9, 11, 12, 13, 16, 17, 31, 33, 127, 129, 130}) {
      SCOPED_TRACE(std::to_string(columns) + (is_prompt ? " columns of a prompt" : " columns of drawn tokens"));
      expect_close(matrix, random_.floats(int64_t{columns} * length, -3, 3), is_prompt);
    }
  }
}

TEST_P(QuantizedProducts, HoldForAnyNumberOfRows) {
  const int32_t length = traits_of(type()).block_elements;
  for (const int32_t rows : {1, 15, 16, 17, 33}) {
    SCOPED_TRACE(std::to_string(rows) + " rows");
    const QuantizedMatrix matrix(type(), rows, length, random_);
    for (const bool is_prompt : {false, true}) expect_close(matrix, random_.floats(5L * length, -3, 3), is_prompt);
  }
}

TEST_P(QuantizedProducts, HoldForActivationsOfVeryDifferentSize) {
  const int32_t length = 2 * traits_of(type()).block_elements;
  const QuantizedMatrix matrix(type(), 20, length, random_);
  std::vector<float> x = random_.floats(3L * length, -1, 1);
  for (size_t k = 0; k < x.size(); ++k) x[k] = std::ldexp(x[k], random_.integer(-12, 6));
  std::fill_n(x.begin() + 32, 32, 0.0F);
  for (const bool is_prompt : {false, true}) expect_close(matrix, x, is_prompt);
}

INSTANTIATE_TEST_SUITE_P(IsasAndTypes, QuantizedProducts,
                         ::testing::Combine(::testing::ValuesIn(available_cpu_isas()),
                                            ::testing::ValuesIn(kQuantizedTypes)),
                         [](const auto& info) {
                           return std::string(cpu_isa_name(std::get<0>(info.param))) + "_" +
                                  tensor_type_name(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace sluice::engine
