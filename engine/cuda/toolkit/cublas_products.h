#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include <cublasLt.h>

#include "base/status.h"
#include "engine/cuda/device.h"
#include "engine/cuda/plugin.h"

namespace sluice::engine::cuda {

/// Bytes that an operand's address and the length of its rows are multiples of. Each has its own: a matrix of an odd
/// number of outputs says nothing against wide reads of what goes in.
struct ProductAlignments {
  uint32_t matrix = 0;
  uint32_t in = 0;
  uint32_t out = 0;
  uint32_t bias = 0;  ///< its address

  auto operator<=>(const ProductAlignments&) const = default;
};

/// Device::multiply by cuBLASLt, in a workspace that is made at the start. Which algorithm suits is asked once for each
/// kind of product and number of rows, rounded up to a power of two; where it doesn't take fewer rows, for just as
/// many. After that a product is one launch. One caller thread, on which the device is current.
class CublasProducts {
 public:
  /// `device`, which outlives it, gives the memory and the stream.
  static Result<std::unique_ptr<CublasProducts>> create(Device& device, const ProductOptions& options);
  ~CublasProducts();
  CublasProducts(const CublasProducts&) = delete;
  CublasProducts& operator=(const CublasProducts&) = delete;

  /// FAILED_PRECONDITION when cuBLASLt has no algorithm for it, INTERNAL when it fails.
  Status multiply(const Product& product);
  /// Chooses the algorithm of such products; what fails now, multiply() tells.
  void prepare(const Product& product) { static_cast<void>(algorithm_of(kind_of(product))); }
  /// FAILED_PRECONDITION when there is no algorithm for products in kFp8.
  Status check_fp8() const;

 private:
  /// What decides the algorithm.
  struct Kind {
    int32_t rows = 0;  ///< as many as it is chosen for
    int32_t outputs = 0;
    int32_t inputs = 0;
    int32_t out_stride = 0;
    Element element = Element::kBf16;
    bool has_bias = false;
    ProductAlignments alignments;

    auto operator<=>(const Kind&) const = default;
  };

  CublasProducts(Device& device, const ProductOptions& options) : device_(device), options_(options) {}

  Kind kind_of(const Product& product) const;
  Result<cublasLtMatmulAlgo_t> choose(const Kind& kind) const;
  Result<const cublasLtMatmulAlgo_t*> algorithm_of(const Kind& kind);

  Device& device_;
  const ProductOptions options_;
  cublasLtHandle_t handle_ = nullptr;
  DeviceBuffer workspace_;
  std::map<Kind, cublasLtMatmulAlgo_t> algorithms_;
};

}  // namespace sluice::engine::cuda
