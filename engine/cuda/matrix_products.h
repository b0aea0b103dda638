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
/// in but for those of fp8 and those in blocks. These the kernel reads as they are; for the device they become `Stored`
/// in scratch memory first, the same bits that they would be kept in, some rows after the other where they are many.
template <typename Stored>
class MatrixProducts {
 public:
  /// All are lent. Products in bf16 of up to `gemv_rows_max` rows are the kernel's (CudaOptions); `numbers_bytes_max`
  /// is what of a matrix in blocks is made numbers at once, but at least kRowMultiple rows.
  MatrixProducts(Device& device, const DeviceWeights& weights, const ActivationArena& arena, int32_t gemv_rows_max,
                 int64_t numbers_bytes_max);

  /// Scratch::kColumns of products with rows of `width`.
  static int64_t column_bytes(int32_t rows, int32_t width);
  /// Scratch::kNumbers of products with up to `rows` rows.
  int64_t number_bytes(int32_t rows, MatrixId matrix) const;

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

  /// Blocks of any type of as many rows are a multiple of 16 bytes.
  static constexpr int32_t kRowMultiple = 16;

 private:
  /// Rows of a matrix, so outputs of a product.
  struct Part {
    int32_t first = 0;
    int32_t rows = 0;
  };

  template <typename Column>
  Column* columns() const {
    return arena_.scratch<Column>(Scratch::kColumns);
  }
  float* column_scales(int32_t rows, int32_t width) const;
  template <typename Column>
  void normalize_as(const float* in, const NormWeight& norm, int32_t rows, int32_t width, StepStatus& status) const;
  bool is_few(const DeviceMatrix& matrix, int32_t rows) const;
  int32_t rows_at_once(const DeviceMatrix& matrix) const;
  template <typename Visit>
  void for_each_part(const DeviceMatrix& matrix, const Visit& visit) const;
  Product product_of(const DeviceMatrix& matrix, const Part& part, int32_t rows, const Target& target) const;
  void make_numbers(const DeviceMatrix& matrix, const Part& part, StepStatus& status) const;
  void prepare(const DeviceMatrix& matrix, int32_t rows) const;
  void multiply_few(const DeviceMatrix& matrix, int32_t rows, const Target& target, StepStatus& status) const;

  Device& device_;
  const DeviceWeights& weights_;
  const ActivationArena& arena_;
  const int32_t gemv_rows_max_;
  const int64_t numbers_bytes_max_;
};

}  // namespace sluice::engine::cuda
