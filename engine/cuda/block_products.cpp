#include "engine/cuda/block_products.h"

#include "engine/cuda/kernels/gemv.cuh"
#include "engine/quant_scheme.h"

namespace sluice::engine::cuda {
namespace {

template <TensorType kType>
int32_t launch_of_type(const uint8_t* blocks, const GemvArgs<gpu::Bf16, float>& args, void* stream) {
  return launch_gemv(BlockMatrix<kType>{blocks}, args, stream);
}

}  // namespace

int32_t launch_block_gemv(TensorType type, const uint8_t* blocks, const GemvArgs<gpu::Bf16, float>& args,
                          void* stream) {
  using Launch = int32_t (*)(const uint8_t*, const GemvArgs<gpu::Bf16, float>&, void*);
  constexpr auto kLaunches = per_quantized_type<Launch>([](auto tag) { return launch_of_type<decltype(tag)::kType>; });
  return kLaunches[type](blocks, args, stream);
}

}  // namespace sluice::engine::cuda
