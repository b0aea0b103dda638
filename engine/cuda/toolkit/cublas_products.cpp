#include "engine/cuda/toolkit/cublas_products.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::engine::cuda {
namespace {

// What NVIDIA recommends for Hopper; older generations' algorithms take less.
constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;
constexpr uint32_t kAlignmentMax = 256;  // of what Device::allocate gives
/// The number of rows that the algorithm of a batch-invariant product is chosen for: a step of prompts.
constexpr int32_t kInvariantRows = 2048;
constexpr int kCandidates = 16;

Status cublas_status(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return internal_error(std::string(what) + ": " + cublasLtGetStatusString(status) + " (cuBLASLt status " +
                        std::to_string(static_cast<int>(status)) + ")");
}

/// Of calls that were all made; success when none failed.
cublasStatus_t first_failure(std::span<const cublasStatus_t> results) {
  const auto failed = std::ranges::find_if(results, [](auto s) { return s != CUBLAS_STATUS_SUCCESS; });
  return failed == results.end() ? CUBLAS_STATUS_SUCCESS : *failed;
}

/// The one place where a product's elements become cuBLASLt's.
cudaDataType_t type_of(Element element) {
  switch (element) {
    case Element::kF32:
      return CUDA_R_32F;
    case Element::kBf16:
      return CUDA_R_16BF;
    case Element::kFp8:
      return CUDA_R_8F_E4M3;
  }
  SLUICE_CHECK(false && "an Element outside the enum");
}

/// What stands beside a product's matrices.
struct Vectors {
  const float* bias = nullptr;
  const float* in_scales = nullptr;
  const float* matrix_scales = nullptr;
};

/// What cuBLASLt is told of a product. It counts by columns, so to it our rows are columns: out [outputs, rows] =
/// matrix [inputs, outputs] transposed * in [inputs, rows].
class Operation {
 public:
  static Result<Operation> create(int32_t rows, int32_t outputs, int32_t inputs, int32_t out_stride, Element element,
                                  const Vectors& vectors) {
    Operation made;
    SLUICE_RETURN_IF_ERROR(cublas_status(made.describe(rows, outputs, inputs, out_stride, element, vectors.bias),
                                         "describing a product to cuBLASLt"));
    if (element == Element::kFp8) {
      SLUICE_RETURN_IF_ERROR(cublas_status(made.scale(vectors), "telling cuBLASLt of a scale for each row"));
    }
    return made;
  }

  cublasLtMatmulDesc_t product() { return &product_; }
  cublasLtMatrixLayout_t matrix() { return &matrix_; }
  cublasLtMatrixLayout_t in() { return &in_; }
  cublasLtMatrixLayout_t out() { return &out_; }

 private:
  cublasStatus_t describe(int32_t rows, int32_t outputs, int32_t inputs, int32_t out_stride, Element element,
                          const float* bias) {
    const auto r = static_cast<uint64_t>(rows);
    const auto o = static_cast<uint64_t>(outputs);
    const auto i = static_cast<uint64_t>(inputs);
    const std::array results{cublasLtMatmulDescInit(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                             set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T),
                             bias == nullptr ? CUBLAS_STATUS_SUCCESS : add_bias(bias),
                             cublasLtMatrixLayoutInit(&matrix_, type_of(element), i, o, inputs),
                             cublasLtMatrixLayoutInit(&in_, type_of(element), i, r, inputs),
                             cublasLtMatrixLayoutInit(&out_, CUDA_R_32F, o, r, out_stride)};
    return first_failure(results);
  }

  cublasStatus_t add_bias(const float* bias) {
    const std::array results{set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS),
                             set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F),
                             set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias)};
    return first_failure(results);
  }

  /// One for each row of the matrix and of the input: to cuBLASLt, vectors along the result's sides. Its sums are of
  /// floats throughout, as CUBLASLT_MATMUL_DESC_FAST_ACCUM is off unless it is asked for.
  cublasStatus_t scale(const Vectors& vectors) {
    const std::array results{set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F),
                             set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F),
                             set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, vectors.matrix_scales),
                             set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, vectors.in_scales)};
    return first_failure(results);
  }

  template <typename T>
  cublasStatus_t set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    return cublasLtMatmulDescSetAttribute(&product_, attribute, &value, sizeof(value));
  }

  cublasLtMatmulDescOpaque_t product_{};
  cublasLtMatrixLayoutOpaque_t matrix_{};
  cublasLtMatrixLayoutOpaque_t in_{};
  cublasLtMatrixLayoutOpaque_t out_{};
};

/// What an algorithm may need.
class Preference {
 public:
  static Result<Preference> create(const ProductAlignments& alignments, bool may_split_sums) {
    Preference made;
    SLUICE_RETURN_IF_ERROR(cublas_status(made.describe(alignments, may_split_sums), "telling cuBLASLt what to prefer"));
    return made;
  }

  cublasLtMatmulPreference_t get() { return &preference_; }

 private:
  cublasStatus_t describe(const ProductAlignments& alignments, bool may_split_sums) {
    const uint32_t schemes = may_split_sums ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_NONE;
    const std::array results{cublasLtMatmulPreferenceInit(&preference_),
                             set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kWorkspaceBytes}),
                             set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes),
                             set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments.matrix),
                             set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments.in),
                             set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments.out),
                             set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments.out)};
    return first_failure(results);
  }

  template <typename T>
  cublasStatus_t set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    return cublasLtMatmulPreferenceSetAttribute(&preference_, attribute, &value, sizeof(value));
  }

  cublasLtMatmulPreferenceOpaque_t preference_{};
};

/// Whether each sum is made by one block from its beginning to its end.
bool keeps_sums_whole(const cublasLtMatmulAlgo_t& algorithm) {
  int32_t parts = 0;
  size_t written = 0;
  const cublasStatus_t asked = cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts,
                                                                    sizeof(parts), &written);
  return asked == CUBLAS_STATUS_SUCCESS && parts <= 1 && parts >= 0;
}

/// The largest power of two that both are multiples of, up to kAlignmentMax. The length of a row counts too, so that a
/// product of rows further down is no other kind.
uint32_t alignment_of(const void* at, int64_t row_bytes) {
  const uintptr_t both = reinterpret_cast<uintptr_t>(at) | static_cast<uintptr_t>(row_bytes) | kAlignmentMax;
  return static_cast<uint32_t>(both & (~both + 1));
}

ProductAlignments alignments_of(const Product& product) {
  const int64_t in_bytes = product.inputs * element_bytes(product.element);
  return {.matrix = alignment_of(product.matrix, in_bytes),
          .in = alignment_of(product.in, in_bytes),
          .out = alignment_of(product.out, product.floats_between_rows() * element_bytes(Element::kF32)),
          .bias = alignment_of(product.bias, 0)};
}

}  // namespace

Result<std::unique_ptr<CublasProducts>> CublasProducts::create(Device& device, const ProductOptions& options) {
  std::unique_ptr<CublasProducts> products(new CublasProducts(device, options));
  SLUICE_RETURN_IF_ERROR(cublas_status(cublasLtCreate(&products->handle_), "starting cuBLASLt"));
  SLUICE_ASSIGN_OR_RETURN(products->workspace_,
                          DeviceBuffer::allocate(device, kWorkspaceBytes, "the workspace of products"));
  return products;
}

CublasProducts::~CublasProducts() {
  if (handle_ != nullptr) static_cast<void>(cublasLtDestroy(handle_));
}

CublasProducts::Kind CublasProducts::kind_of(const Product& product) const {
  const auto rounded_up = static_cast<int32_t>(std::bit_ceil(static_cast<uint32_t>(product.rows)));
  return {.rows = options_.is_batch_invariant ? kInvariantRows : rounded_up,
          .outputs = product.outputs,
          .inputs = product.inputs,
          .out_stride = product.floats_between_rows(),
          .element = product.element,
          .has_bias = product.bias != nullptr,
          .alignments = alignments_of(product)};
}

Result<cublasLtMatmulAlgo_t> CublasProducts::choose(const Kind& kind) const {
  // Heuristics look at whether there are a bias and scales and how the bias is aligned, not at what lies there.
  const auto* const any = workspace_.as<const float>();
  const auto* const bias = reinterpret_cast<const float*>(workspace_.as<const std::byte>() + kind.alignments.bias);
  const Vectors vectors{.bias = kind.has_bias ? bias : nullptr, .in_scales = any, .matrix_scales = any};
  SLUICE_ASSIGN_OR_RETURN(Operation operation, Operation::create(kind.rows, kind.outputs, kind.inputs, kind.out_stride,
                                                                 kind.element, vectors));
  SLUICE_ASSIGN_OR_RETURN(Preference preference, Preference::create(kind.alignments, !options_.is_batch_invariant));
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> candidates{};
  int count = 0;
  const cublasStatus_t asked =
      cublasLtMatmulAlgoGetHeuristic(handle_, operation.product(), operation.matrix(), operation.in(), operation.out(),
                                     operation.out(), preference.get(), kCandidates, candidates.data(), &count);
  // So it tells that there are no candidates.
  const bool has_none = asked == CUBLAS_STATUS_NOT_SUPPORTED;
  if (!has_none) SLUICE_RETURN_IF_ERROR(cublas_status(asked, "asking cuBLASLt for an algorithm"));
  for (const auto& candidate : std::span(candidates).first(static_cast<size_t>(count))) {
    if (candidate.state != CUBLAS_STATUS_SUCCESS) continue;
    if (!options_.is_batch_invariant || keeps_sums_whole(candidate.algo)) return candidate.algo;
  }
  return failed_precondition("cuBLASLt has no algorithm for products of " + std::to_string(kind.inputs) +
                             " inputs and " + std::to_string(kind.outputs) + " outputs");
}

Status CublasProducts::check_fp8() const {
  constexpr int32_t kAnyWidth = 256;
  constexpr uint32_t kAlignment = kFp8Multiple;
  return choose({.rows = options_.is_batch_invariant ? kInvariantRows : 1,
                 .outputs = kAnyWidth,
                 .inputs = kAnyWidth,
                 .out_stride = kAnyWidth,
                 .element = Element::kFp8,
                 .has_bias = false,
                 .alignments = {.matrix = kAlignment, .in = kAlignment, .out = kAlignment, .bias = kAlignment}})
      .status();
}

Result<const cublasLtMatmulAlgo_t*> CublasProducts::algorithm_of(const Kind& kind) {
  auto known = algorithms_.find(kind);
  if (known == algorithms_.end()) {
    SLUICE_ASSIGN_OR_RETURN(const cublasLtMatmulAlgo_t algorithm, choose(kind));
    known = algorithms_.emplace(kind, algorithm).first;
  }
  return &known->second;
}

Status CublasProducts::multiply(const Product& product) {
  SLUICE_CHECK(product.bias == nullptr || (!product.adds && product.element != Element::kFp8));
  if (product.rows == 0) return {};
  Kind kind = kind_of(product);
  SLUICE_ASSIGN_OR_RETURN(const cublasLtMatmulAlgo_t* algorithm, algorithm_of(kind));
  const Vectors vectors{.bias = product.bias, .in_scales = product.in_scales, .matrix_scales = product.matrix_scales};
  SLUICE_ASSIGN_OR_RETURN(Operation operation,
                          Operation::create(product.rows, product.outputs, product.inputs,
                                            product.floats_between_rows(), product.element, vectors));
  const auto run = [&] {
    const float one = 1;
    const float beta = product.adds ? 1 : 0;
    return cublasLtMatmul(handle_, operation.product(), &one, product.matrix, operation.matrix(), product.in,
                          operation.in(), &beta, product.out, operation.out(), product.out, operation.out(), algorithm,
                          workspace_.as<void>(), kWorkspaceBytes, static_cast<cudaStream_t>(device_.stream()));
  };
  cublasStatus_t done = run();
  // One chosen for the next power of two needn't take fewer rows. It is refused before anything is launched.
  const bool is_refused = done == CUBLAS_STATUS_NOT_SUPPORTED || done == CUBLAS_STATUS_INVALID_VALUE;
  if (is_refused && !options_.is_batch_invariant && kind.rows != product.rows) {
    kind.rows = product.rows;
    SLUICE_ASSIGN_OR_RETURN(algorithm, algorithm_of(kind));
    done = run();
  }
  return cublas_status(done, "multiplying " + std::to_string(product.rows) + " rows");
}

}  // namespace sluice::engine::cuda
