// The products of few rows with every type of weights that they are made for, for nvcc to compile.
#include "engine/cuda/kernels/gemv.cuh"

namespace sluice::engine::cuda {

using Args = GemvArgs<gpu::Bf16, float>;

template <TensorType... kTypes>
int32_t launch_of_blocks(const uint8_t* blocks, const Args& args, void* stream) {
  int32_t error = 0;
  ((error = error == 0 ? launch_gemv(BlockMatrix<kTypes>{blocks}, args, stream) : error), ...);
  return error;
}

/// The first error of all launches.
int32_t launch_all_gemv(const gpu::Bf16* elements, const uint8_t* blocks, const Args& args, void* stream) {
  const int32_t error = launch_gemv(Bf16Matrix{elements}, args, stream);
  if (error != 0) return error;
  return launch_of_blocks<TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ4_K,
                          TensorType::kQ6_K>(blocks, args, stream);
}

}  // namespace sluice::engine::cuda
