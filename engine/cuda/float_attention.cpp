#include "engine/cuda/paged_attention.h"
#include "engine/cuda/typed_attention.h"

namespace sluice::engine::cuda {

std::unique_ptr<PagedAttention> make_float_attention(Device& device) {
  return std::make_unique<TypedAttention<float, float>>(device);
}

}  // namespace sluice::engine::cuda
