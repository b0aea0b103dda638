#pragma once

#include <cstdint>

#include "engine/cuda/device.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cuda {

/// Whether a type's bytes are the elements themselves.
bool is_stored_as(TensorType type, Element element);

/// Elements as a model's files have them, in device memory at a multiple of 16 bytes.
struct StoredElements {
  TensorType type = TensorType::kF32;
  const void* data = nullptr;
  int64_t count = 0;  ///< whole blocks
};

/// to = the numbers that the elements stand for, rounded to `element`; `to` is device memory. What gpu::launch returns.
int32_t launch_weight_conversion(const StoredElements& from, Element element, void* to, void* stream);

/// A matrix of bf16 on its way to kFp8, all in device memory.
struct RowRounding {
  const void* from = nullptr;  // bf16 [rows, length]
  void* to = nullptr;          // e4m3 [rows, length]
  float* scales = nullptr;     // [rows]
  int32_t rows = 0;
  int32_t length = 0;
};

/// What gpu::launch returns.
int32_t launch_row_rounding(const RowRounding& rounding, void* stream);

}  // namespace sluice::engine::cuda
