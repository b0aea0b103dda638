#include "tests/cuda_plugin/products/imagined_cublas.h"

#include <algorithm>
#include <cstring>

#include "engine/cuda/simt/simt_numbers.h"

namespace {

namespace numbers = sluice::gpu::simt;

ImaginedCublas& library() {
  static ImaginedCublas state;
  return state;
}

/// What the opaque structures hold here.
struct Layout {
  cudaDataType_t type;
  uint64_t rows;
  uint64_t columns;
  int64_t pitch;
};
struct Description {
  cublasComputeType_t compute;
  cudaDataType_t scale_type;
  cublasOperation_t transposes_a;
  cublasLtEpilogue_t epilogue;
  cudaDataType_t bias_type;
  const float* bias;
  int32_t a_scale_mode;
  int32_t b_scale_mode;
  const float* a_scales;
  const float* b_scales;
};
struct Preference {
  uint64_t workspace_bytes;
  uint32_t schemes;
  uint32_t alignments[4];
};
struct Algorithm {
  int32_t splits;
  int32_t rows;  // ours
  uint32_t alignments[4];
};

template <typename Held, typename Opaque>
Held& held(Opaque* opaque) {
  static_assert(sizeof(Held) <= sizeof(Opaque));
  return *reinterpret_cast<Held*>(opaque);
}

template <typename T>
cublasStatus_t take(T& to, const void* from, size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t result_of(const char* call) {
  return library().failing_call == call ? CUBLAS_STATUS_INTERNAL_ERROR : CUBLAS_STATUS_SUCCESS;
}

uint32_t alignment_of(uintptr_t address) {
  const uintptr_t bounded = address | 256;
  return static_cast<uint32_t>(bounded & (~bounded + 1));
}

int64_t bytes_of(cudaDataType_t type) {
  return type == CUDA_R_32F ? 4 : type == CUDA_R_16BF ? 2 : 1;
}

double element(const void* matrix, const Layout& layout, uint64_t row, uint64_t column) {
  const size_t at = column * static_cast<size_t>(layout.pitch) + row;
  if (layout.type == CUDA_R_32F) return static_cast<double>(static_cast<const float*>(matrix)[at]);
  if (layout.type == CUDA_R_16BF) {
    return static_cast<double>(numbers::bf16_to_float(static_cast<const uint16_t*>(matrix)[at]));
  }
  return static_cast<double>(numbers::fp8_to_float(static_cast<const uint8_t*>(matrix)[at]));
}

/// A and B [k, m] and [k, n], of one type; C and D [m, n] of floats; columns that hold their rows.
bool fit(const Description& product, const Layout& a, const Layout& b, const Layout& d) {
  const bool is_typed = a.type == b.type && d.type == CUDA_R_32F && product.compute == CUBLAS_COMPUTE_32F &&
                        product.scale_type == CUDA_R_32F;
  const bool is_sized = a.rows == b.rows && a.columns == d.rows && b.columns == d.columns;
  const auto holds = [](const Layout& of) { return of.pitch >= static_cast<int64_t>(of.rows); };
  return product.transposes_a == CUBLAS_OP_T && is_typed && is_sized && holds(a) && holds(b) && holds(d);
}

/// What products of e4m3 are tied to, and others know nothing of.
bool has_right_scales(const Description& product, const Layout& a) {
  if (a.type != CUDA_R_8F_E4M3) return product.a_scales == nullptr && product.b_scales == nullptr;
  const bool is_outer = product.a_scale_mode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F &&
                        product.b_scale_mode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
  const auto is_aligned = [](const float* at) { return at != nullptr && reinterpret_cast<uintptr_t>(at) % 16 == 0; };
  const bool is_plain = product.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  return is_outer && is_plain && is_aligned(product.a_scales) && is_aligned(product.b_scales) && a.rows % 16 == 0 &&
         a.columns % 16 == 0;
}

bool has_right_bias(const Description& product) {
  if (product.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return true;
  return product.epilogue == CUBLASLT_EPILOGUE_BIAS && product.bias != nullptr && product.bias_type == CUDA_R_32F;
}

bool is_aligned(const void* matrix, const Layout& layout, uint32_t alignment) {
  const auto pitch_bytes = static_cast<uintptr_t>(layout.pitch * bytes_of(layout.type));
  return (reinterpret_cast<uintptr_t>(matrix) | pitch_bytes) % alignment == 0;
}

}  // namespace

ImaginedCublas& new_imagined_cublas() {
  library() = {};
  return library();
}

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (result_of("create") != CUBLAS_STATUS_SUCCESS) return CUBLAS_STATUS_INTERNAL_ERROR;
  *handle = reinterpret_cast<cublasLtHandle_t>(&library());
  ++library().open_handles;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t /*handle*/) {
  --library().open_handles;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusString(cublasStatus_t /*status*/) {
  return "imagined failure";
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t product, size_t /*size*/,
                                               cublasComputeType_t compute, cudaDataType_t scale_type) {
  held<Description>(product) = {.compute = compute,
                                .scale_type = scale_type,
                                .transposes_a = CUBLAS_OP_N,
                                .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
                                .bias_type = CUDA_R_16BF,
                                .bias = nullptr,
                                .a_scale_mode = 0,
                                .b_scale_mode = 0,
                                .a_scales = nullptr,
                                .b_scales = nullptr};
  return result_of("describe");
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  auto& to = held<Description>(product);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(to.transposes_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(to.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return take(to.bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(to.bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
      return take(to.a_scale_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
      return take(to.b_scale_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return take(to.a_scales, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return take(to.b_scales, value, bytes);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t /*size*/, cudaDataType type,
                                                 uint64_t rows, uint64_t columns, int64_t pitch) {
  held<Layout>(layout) = {.type = type, .rows = rows, .columns = columns, .pitch = pitch};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t /*size*/) {
  held<Preference>(preference) = {
      .workspace_bytes = 0, .schemes = CUBLASLT_REDUCTION_SCHEME_MASK, .alignments = {256, 256, 256, 256}};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    size_t bytes) {
  auto& to = held<Preference>(preference);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return take(to.workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return take(to.schemes, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return take(to.alignments[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return take(to.alignments[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return take(to.alignments[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return take(to.alignments[3], value, bytes);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t /*c*/, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results, int* count) {
  const auto& of = held<Description>(product);
  const auto& by = held<Preference>(preference);
  AskedProduct& asked = library().questions.emplace_back();
  asked.rows = static_cast<int64_t>(held<Layout>(b).columns);
  asked.type = held<Layout>(a).type;
  asked.has_bias = of.epilogue == CUBLASLT_EPILOGUE_BIAS;
  asked.bias_alignment = alignment_of(reinterpret_cast<uintptr_t>(of.bias));
  std::ranges::copy(by.alignments, asked.alignments.begin());
  asked.may_split = by.schemes != CUBLASLT_REDUCTION_SCHEME_NONE;
  if (result_of("ask") != CUBLAS_STATUS_SUCCESS) return CUBLAS_STATUS_INTERNAL_ERROR;
  if (!fit(of, held<Layout>(a), held<Layout>(b), held<Layout>(d)) || !has_right_scales(of, held<Layout>(a)) ||
      !has_right_bias(of)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *count = std::min(wanted, static_cast<int>(library().split_counts.size()));
  for (int i = 0; i < *count; ++i) {
    auto& algorithm = held<Algorithm>(&results[i].algo);
    algorithm.splits = library().split_counts[static_cast<size_t>(i)];
    algorithm.rows = static_cast<int32_t>(asked.rows);
    std::ranges::copy(by.alignments, algorithm.alignments);
    results[i].state = CUBLAS_STATUS_SUCCESS;
    results[i].workspaceSize = by.workspace_bytes;
  }
  return library().asked_result;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                                                    size_t bytes, size_t* written) {
  if (attribute != CUBLASLT_ALGO_CONFIG_SPLITK_NUM || bytes != sizeof(int32_t)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &held<const Algorithm>(algorithm).splits, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t workspace_bytes,
                              cudaStream_t stream) {
  if (result_of("multiply") != CUBLAS_STATUS_SUCCESS) return CUBLAS_STATUS_INTERNAL_ERROR;
  const auto& of = held<Description>(product);
  const auto& la = held<Layout>(a_layout);
  const auto& lb = held<Layout>(b_layout);
  const auto& lc = held<Layout>(c_layout);
  const auto& ld = held<Layout>(d_layout);
  const auto& by = held<const Algorithm>(algorithm);
  if (!fit(of, la, lb, ld) || !has_right_scales(of, la) || !has_right_bias(of)) return CUBLAS_STATUS_INVALID_VALUE;
  if (lc.rows != ld.rows || lc.columns != ld.columns || lc.pitch != ld.pitch) return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_aligned(a, la, by.alignments[0]) || !is_aligned(b, lb, by.alignments[1]) ||
      !is_aligned(c, lc, by.alignments[2]) || !is_aligned(d, ld, by.alignments[3])) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (workspace == nullptr || workspace_bytes == 0 || stream == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!library().takes_fewer_rows && ld.columns != static_cast<uint64_t>(by.rows)) return CUBLAS_STATUS_NOT_SUPPORTED;
  library().splits_run.push_back(by.splits);
  for (uint64_t column = 0; column < ld.columns; ++column) {
    for (uint64_t row = 0; row < ld.rows; ++row) {
      double sum = 0;
      for (uint64_t k = 0; k < la.rows; ++k) sum += element(a, la, k, row) * element(b, lb, k, column);
      if (of.a_scales != nullptr)
        sum *= static_cast<double>(of.a_scales[row]) * static_cast<double>(of.b_scales[column]);
      sum *= static_cast<double>(*static_cast<const float*>(alpha));
      const auto factor = static_cast<double>(*static_cast<const float*>(beta));
      if (factor != 0) sum += factor * element(c, lc, row, column);
      if (of.epilogue == CUBLASLT_EPILOGUE_BIAS) sum += static_cast<double>(of.bias[row]);
      static_cast<float*>(d)[column * static_cast<size_t>(ld.pitch) + row] = static_cast<float>(sum);
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
