#include "engine/cuda/paged_attention.h"
#include "engine/cuda/typed_attention.h"

namespace sluice::engine::cuda {

std::unique_ptr<PagedAttention> make_fp8_attention(Device& device) {
  return std::make_unique<TypedAttention<gpu::Bf16, gpu::Fp8>>(device);
}

}  // namespace sluice::engine::cuda
