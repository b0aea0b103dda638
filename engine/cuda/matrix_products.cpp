#include "engine/cuda/matrix_products.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <type_traits>

#include "engine/cuda/block_products.h"
#include "engine/cuda/cuda_support.h"
#include "engine/cuda/kernels/gemv.cuh"
#include "engine/cuda/kernels/quantize_rows.cuh"
#include "engine/cuda/kernels/rms_norm.cuh"
#include "engine/cuda/kernels/rows.cuh"
#include "engine/cuda/weight_conversion.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cuda {
namespace {

constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));

int64_t aligned(int64_t bytes) {
  return (bytes + kFp8Multiple - 1) / kFp8Multiple * kFp8Multiple;
}

}  // namespace

template <typename Stored>
MatrixProducts<Stored>::MatrixProducts(Device& device, const DeviceWeights& weights, const ActivationArena& arena,
                                       int32_t gemv_rows_max, int64_t numbers_bytes_max)
    : device_(device),
      weights_(weights),
      arena_(arena),
      gemv_rows_max_(std::min(gemv_rows_max, kGemvRowsMax)),
      numbers_bytes_max_(numbers_bytes_max) {}

// Those of fp8, which take less, have their scales behind them.
template <typename Stored>
int64_t MatrixProducts<Stored>::column_bytes(int32_t rows, int32_t width) {
  return int64_t{rows} * (width * static_cast<int64_t>(sizeof(Stored)) + kFloatBytes) + kFp8Multiple;
}

template <typename Stored>
float* MatrixProducts<Stored>::column_scales(int32_t rows, int32_t width) const {
  return reinterpret_cast<float*>(columns<std::byte>() + aligned(int64_t{rows} * width));
}

template <typename Stored>
template <typename Column>
void MatrixProducts<Stored>::normalize_as(const float* in, const NormWeight& norm, int32_t rows, int32_t width,
                                          StepStatus& status) const {
  float* scales = std::is_same_v<Column, gpu::Fp8> ? column_scales(rows, width) : nullptr;
  status.add_launch(
      launch_rms_norm(
          RmsNormArgs<float, Column>{
              .in = in, .norm = norm, .out = columns<Column>(), .scales = scales, .tokens = rows, .width = width},
          device_.stream()),
      "rms_norm");
}

template <typename Stored>
void MatrixProducts<Stored>::normalize(const float* in, const NormWeight& norm, int32_t rows, MatrixId matrix,
                                       StepStatus& status) const {
  const DeviceMatrix& stored = weights_.matrix(matrix);
  if (stored.element == Element::kFp8) return normalize_as<gpu::Fp8>(in, norm, rows, stored.length, status);
  normalize_as<Stored>(in, norm, rows, stored.length, status);
}

template <typename Stored>
void MatrixProducts<Stored>::take(const float* in, int32_t rows, MatrixId matrix, StepStatus& status) const {
  const DeviceMatrix& stored = weights_.matrix(matrix);
  if (stored.element != Element::kFp8) {
    return status.add_launch(launch_convert(columns<Stored>(), in, int64_t{rows} * stored.length, device_.stream()),
                             "convert");
  }
  const QuantizeRowsArgs<float> args{.in = in,
                                     .out = columns<gpu::Fp8>(),
                                     .scales = column_scales(rows, stored.length),
                                     .rows = rows,
                                     .width = stored.length};
  status.add_launch(launch_quantize_rows(args, device_.stream()), "quantize_rows");
}

template <typename Stored>
bool MatrixProducts<Stored>::is_few(const DeviceMatrix& matrix, int32_t rows) const {
  return matrix.element == Element::kBf16 && rows <= gemv_rows_max_;
}

/// Rows of the matrix that the device is given together.
template <typename Stored>
int32_t MatrixProducts<Stored>::rows_at_once(const DeviceMatrix& matrix) const {
  if (!matrix.blocks) return matrix.rows;
  const int64_t fitting = numbers_bytes_max_ / (matrix.length * element_bytes(matrix.element));
  const int64_t whole = std::max<int64_t>(fitting / kRowMultiple, 1) * kRowMultiple;
  return static_cast<int32_t>(std::min<int64_t>(whole, matrix.rows));
}

template <typename Stored>
int64_t MatrixProducts<Stored>::number_bytes(int32_t rows, MatrixId matrix) const {
  const DeviceMatrix& stored = weights_.matrix(matrix);
  if (!stored.blocks || is_few(stored, rows)) return 0;
  return int64_t{rows_at_once(stored)} * stored.length * element_bytes(stored.element);
}

template <typename Stored>
template <typename Visit>
void MatrixProducts<Stored>::for_each_part(const DeviceMatrix& matrix, const Visit& visit) const {
  const int32_t step = rows_at_once(matrix);
  for (int32_t first = 0; first < matrix.rows; first += step) visit(Part{first, std::min(step, matrix.rows - first)});
}

template <typename Stored>
Product MatrixProducts<Stored>::product_of(const DeviceMatrix& matrix, const Part& part, int32_t rows,
                                           const Target& target) const {
  const bool is_fp8 = matrix.element == Element::kFp8;
  return {.rows = rows,
          .outputs = part.rows,
          .inputs = matrix.length,
          .element = matrix.element,
          .in = columns<void>(),
          .matrix = matrix.blocks ? arena_.scratch<void>(Scratch::kNumbers) : matrix.elements.template as<void>(),
          .in_scales = is_fp8 ? column_scales(rows, matrix.length) : nullptr,
          .matrix_scales = matrix.scales.template as<float>(),
          .bias = target.bias == nullptr ? nullptr : target.bias + part.first,
          .out = target.out + part.first,
          .out_stride = matrix.rows,
          .adds = target.adds};
}

template <typename Stored>
void MatrixProducts<Stored>::make_numbers(const DeviceMatrix& matrix, const Part& part, StepStatus& status) const {
  const auto* const blocks = matrix.elements.template as<const std::byte>();
  const StoredElements from{.type = *matrix.blocks,
                            .data = blocks + tensor_bytes(*matrix.blocks, int64_t{part.first} * matrix.length),
                            .count = int64_t{part.rows} * matrix.length};
  auto* const to = arena_.scratch<void>(Scratch::kNumbers);
  status.add_launch(launch_weight_conversion(from, matrix.element, to, device_.stream()), "dequantize");
}

template <typename Stored>
void MatrixProducts<Stored>::multiply(MatrixId matrix, int32_t rows, const Target& target, StepStatus& status) const {
  const DeviceMatrix& stored = weights_.matrix(matrix);
  Target to = target;
  if ((stored.element == Element::kFp8 || is_few(stored, rows)) && to.bias != nullptr) {
    // What these can't add by themselves lies there before them.
    status.add_launch(launch_fill_rows(to.out, to.bias, rows, stored.rows, device_.stream()), "fill_rows");
    to = {.out = to.out, .bias = nullptr, .adds = true};
  }
  if (is_few(stored, rows)) return multiply_few(stored, rows, to, status);
  for_each_part(stored, [&](const Part& part) {
    if (stored.blocks) make_numbers(stored, part, status);
    status.add(device_.multiply(product_of(stored, part, rows, to)));
  });
}

template <typename Stored>
void MatrixProducts<Stored>::prepare(int32_t rows) const {
  std::set<std::tuple<int32_t, int32_t, Element, bool>> seen;
  for (const DeviceMatrix& matrix : weights_.matrices()) {
    if (!seen.emplace(matrix.rows, matrix.length, matrix.element, matrix.blocks.has_value()).second) continue;
    if (!is_few(matrix, rows)) prepare(matrix, rows);
  }
}

template <typename Stored>
void MatrixProducts<Stored>::prepare(const DeviceMatrix& matrix, int32_t rows) const {
  // Any memory of the arena is aligned as all of it is.
  auto* any = columns<float>();
  for_each_part(matrix, [&](const Part& part) {
    device_.prepare(product_of(matrix, part, rows, {.out = any}));
    device_.prepare(product_of(matrix, part, rows, {.out = any, .adds = true}));
    if (matrix.element == Element::kFp8) return;
    device_.prepare(product_of(matrix, part, rows, {.out = any, .bias = any}));
  });
}

template <typename Stored>
void MatrixProducts<Stored>::multiply_few(const DeviceMatrix& matrix, int32_t rows, const Target& target,
                                          StepStatus& status) const {
  const GemvArgs<gpu::Bf16, float> args{.in = columns<const gpu::Bf16>(),
                                        .added = target.adds ? target.out : nullptr,
                                        .out = target.out,
                                        .rows = rows,
                                        .outputs = matrix.rows,
                                        .length = matrix.length};
  const int32_t code =
      matrix.blocks
          ? launch_block_gemv(*matrix.blocks, matrix.elements.template as<const uint8_t>(), args, device_.stream())
          : launch_gemv(Bf16Matrix{matrix.elements.template as<const gpu::Bf16>()}, args, device_.stream());
  status.add_launch(code, "gemv");
}

static_assert(kNormWidthMax == kWidthMax);

template class MatrixProducts<float>;
template class MatrixProducts<gpu::Bf16>;

}  // namespace sluice::engine::cuda
