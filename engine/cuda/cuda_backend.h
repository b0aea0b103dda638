#pragma once

#include <memory>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cuda/device.h"

namespace sluice::engine {

struct CudaOptions {
  /// What matrices are kept in unless keeps_blocks says otherwise, and what goes into products. kF32 is for tests and
  /// takes twice the memory. kFp8 rounds each row of a matrix and each token by a scale of its own, where the device
  /// has products of it (Device::check_products); the table that tokens are looked up in and experts stay bf16, and so
  /// do queries.
  cuda::Element element = cuda::Element::kBf16;
  /// Matrices whose tensors are all of one quantised type stay as the files have them, byte for byte: Q4_0 takes 0.28
  /// of bf16's memory. Matrices of several types or of floats, tables that tokens are looked up in, a head that is one
  /// too, and experts with their router become `element`. Up to gemv_rows_max rows a product reads the blocks; for more
  /// rows the matrix is first written as `element`, the same numbers that it would be kept in.
  bool keeps_blocks = false;
  int64_t numbers_bytes_max = int64_t{256} << 20;  ///< memory for that; a larger matrix is multiplied in parts
  /// Products in bf16 of up to so many rows (8 at most) are a kernel of ours, which reads the matrix once at the speed
  /// of memory; 4 suits decoding few sequences, and 8 matrices in blocks. It adds up in another order than the device's
  /// products, so whether a step has more rows (with those that fill up a recorded one) then shows in the last bits of
  /// what a token gets. 0: never, which keeps Backend's promise bit for bit where the device's products do.
  int32_t gemv_rows_max = 0;
  int32_t load_threads = 4;  ///< that read the model's files, if there are as many cores
};

/// A backend on a device, which outlives it. All sums are float32.
std::unique_ptr<Backend> make_cuda_backend(cuda::Device& device, const CudaOptions& options);
/// The same with a device of its own.
std::unique_ptr<Backend> make_cuda_backend(std::unique_ptr<cuda::Device> device, const CudaOptions& options);

}  // namespace sluice::engine
