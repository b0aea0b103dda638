#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backend.h"
#include "engine/cuda/activation_arena.h"
#include "engine/cuda/device.h"
#include "engine/cuda/device_weights.h"
#include "engine/cuda/kernels/norm_weight.cuh"
#include "engine/cuda/step_status.h"

namespace sluice::engine::cuda {

/// Products of floats with matrices: brings what goes into one to the form of the matrix, as columns in the arena's
/// scratch memory, and has it computed by the device or, for few rows, by a kernel. `Stored` is what matrices are kept
/// in but for those of fp8.
template <typename Stored>
class MatrixProducts {
 public:
  /// All are lent. Products in bf16 of up to `gemv_rows_max` rows are the kernel's (CudaOptions).
  MatrixProducts(Device& device, const DeviceWeights& weights, const ActivationArena& arena, int32_t gemv_rows_max);

  /// Scratch::kColumns of products with rows of `width`.
  static int64_t column_bytes(int32_t rows, int32_t width);

  /// columns = rms_norm(in), for a product with the matrix; `in` has rows of its length
  void normalize(const float* in, const NormWeight& norm, int32_t rows, MatrixId matrix, StepStatus& status) const;
  /// columns = in, for a product with the matrix
  void take(const float* in, int32_t rows, MatrixId matrix, StepStatus& status) const;
  /// out (+)= columns * matrix (+ bias)
  struct Target {
    float* out = nullptr;         // [rows, rows of the matrix]
    const float* bias = nullptr;  // [rows of the matrix], or none
    bool adds = false;            ///< then there is no bias
  };
  void multiply(MatrixId matrix, int32_t rows, const Target& target, StepStatus& status) const;
  /// Tells the device of all kinds of products with so many rows (Device::prepare).
  void prepare(int32_t rows) const;

 private:
  template <typename Column>
  Column* columns() const {
    return arena_.scratch<Column>(Scratch::kColumns);
  }
  float* column_scales(int32_t rows, int32_t width) const;
  template <typename Column>
  void normalize_as(const float* in, const NormWeight& norm, int32_t rows, int32_t width, StepStatus& status) const;
  void multiply_few(const DeviceMatrix& matrix, int32_t rows, const Target& target, StepStatus& status) const;

  Device& device_;
  const DeviceWeights& weights_;
  const ActivationArena& arena_;
  const int32_t gemv_rows_max_;
};

}  // namespace sluice::engine::cuda
