#pragma once

#include <cstdint>

#include "engine/cuda/kernels/gemv.cuh"
#include "engine/tensor_type.h"

namespace sluice::engine::cuda {

/// launch_gemv() with a matrix in blocks of a quantised type, as files have them: [outputs, length / elements of a
/// block] in device memory, from a multiple of 4 on. What gpu::launch returns.
int32_t launch_block_gemv(TensorType type, const uint8_t* blocks, const GemvArgs<gpu::Bf16, float>& args, void* stream);

}  // namespace sluice::engine::cuda
