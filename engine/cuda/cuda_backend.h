#pragma once

#include <memory>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cuda/device.h"

namespace sluice::engine {

struct CudaOptions {
  /// What matrices are kept in, and what goes into products. kF32 is for tests and takes twice the memory. kFp8 rounds
  /// each row of a matrix and each token by a scale of its own, where the device has products of it
  /// (Device::check_products); the table that tokens are looked up in stays bf16, and so do queries.
  cuda::Element element = cuda::Element::kBf16;
  /// Products in bf16 of up to so many rows (8 at most) are a kernel of ours, which reads the matrix once at the speed
  /// of memory; 4 suits decoding few sequences. It adds up in another order than the device's products, so whether a
  /// step has more rows (with those that fill up a recorded one) then shows in the last bits of what a token gets. 0:
  /// never, which keeps Backend's promise bit for bit where the device's products do.
  int32_t gemv_rows_max = 0;
  int32_t load_threads = 4;  ///< that read the model's files, if there are as many cores
};

/// A backend on a device, which outlives it. Weights of all types are kept as `element`; all sums are float32.
std::unique_ptr<Backend> make_cuda_backend(cuda::Device& device, const CudaOptions& options);
/// The same with a device of its own.
std::unique_ptr<Backend> make_cuda_backend(std::unique_ptr<cuda::Device> device, const CudaOptions& options);

}  // namespace sluice::engine
