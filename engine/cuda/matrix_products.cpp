#include "engine/cuda/matrix_products.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <type_traits>

#include "engine/cuda/cuda_support.h"
#include "engine/cuda/kernels/gemv.cuh"
#include "engine/cuda/kernels/quantize_rows.cuh"
#include "engine/cuda/kernels/rms_norm.cuh"
#include "engine/cuda/kernels/rows.cuh"

namespace sluice::engine::cuda {
namespace {

constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));

int64_t aligned(int64_t bytes) {
  return (bytes + kFp8Multiple - 1) / kFp8Multiple * kFp8Multiple;
}

}  // namespace

template <typename Stored>
MatrixProducts<Stored>::MatrixProducts(Device& device, const DeviceWeights& weights, const ActivationArena& arena,
                                       int32_t gemv_rows_max)
    : device_(device), weights_(weights), arena_(arena), gemv_rows_max_(std::min(gemv_rows_max, kGemvRowsMax)) {}

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
void MatrixProducts<Stored>::multiply(MatrixId matrix, int32_t rows, const Target& target, StepStatus& status) const {
  const DeviceMatrix& stored = weights_.matrix(matrix);
  const bool is_fp8 = stored.element == Element::kFp8;
  const bool is_few = stored.element == Element::kBf16 && rows <= gemv_rows_max_;
  Target to = target;
  if ((is_fp8 || is_few) && to.bias != nullptr) {
    // What these can't add by themselves lies there before them.
    status.add_launch(launch_fill_rows(to.out, to.bias, rows, stored.rows, device_.stream()), "fill_rows");
    to = {.out = to.out, .bias = nullptr, .adds = true};
  }
  if (is_few) return multiply_few(stored, rows, to, status);
  status.add(device_.multiply({.rows = rows,
                               .outputs = stored.rows,
                               .inputs = stored.length,
                               .element = stored.element,
                               .in = columns<void>(),
                               .matrix = stored.elements.template as<void>(),
                               .in_scales = is_fp8 ? column_scales(rows, stored.length) : nullptr,
                               .matrix_scales = stored.scales.template as<float>(),
                               .bias = to.bias,
                               .out = to.out,
                               .adds = to.adds}));
}

template <typename Stored>
void MatrixProducts<Stored>::prepare(int32_t rows) const {
  std::set<std::tuple<int32_t, int32_t, Element>> seen;
  for (const DeviceMatrix& matrix : weights_.matrices()) {
    if (!seen.emplace(matrix.rows, matrix.length, matrix.element).second) continue;
    const bool is_fp8 = matrix.element == Element::kFp8;
    // Any memory of the arena is aligned as all of it is.
    auto* any = columns<float>();
    Product product{.rows = rows,
                    .outputs = matrix.rows,
                    .inputs = matrix.length,
                    .element = matrix.element,
                    .in = any,
                    .matrix = matrix.elements.template as<void>(),
                    .in_scales = is_fp8 ? any : nullptr,
                    .matrix_scales = matrix.scales.template as<float>(),
                    .bias = nullptr,
                    .out = any,
                    .adds = false};
    device_.prepare(product);
    product.adds = true;
    device_.prepare(product);
    if (is_fp8) continue;
    product.adds = false;
    product.bias = any;
    device_.prepare(product);
  }
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
  status.add_launch(launch_gemv(Bf16Matrix{matrix.elements.template as<const gpu::Bf16>()}, args, device_.stream()),
                    "gemv");
}

static_assert(kNormWidthMax == kWidthMax);

template class MatrixProducts<float>;
template class MatrixProducts<gpu::Bf16>;

}  // namespace sluice::engine::cuda
