#include "engine/cuda/device_row_maker.h"

#include <string>
#include <utility>

#include "engine/cuda/kernels/random_weights.cuh"
#include "engine/quant_scheme.h"

namespace sluice::engine::cuda {
namespace {

Status launched(int32_t code) {
  if (code == 0) return {};
  return internal_error("making random weights: CUDA error " + std::to_string(code));
}

/// `unit` is in bytes.
RandomRange range_of(const RandomRecipe& recipe, int64_t unit, int64_t first_byte, int64_t bytes) {
  return {.seed = recipe.seed,
          .row_words = recipe.row_words,
          .row_units = recipe.row_bytes / unit,
          .first = first_byte / unit,
          .count = bytes / unit};
}

}  // namespace

template <typename Bits>
Status DeviceRowMaker::make_elements(const RandomRecipe& recipe, int64_t first_byte, int64_t bytes, void* to) {
  DeviceBuffer& elements = elements_[recipe.elements.data()];
  if (elements.bytes() == 0) {
    const auto table_bytes = static_cast<int64_t>(recipe.elements.size());
    SLUICE_ASSIGN_OR_RETURN(elements, DeviceBuffer::allocate(device_, table_bytes, "random weights"));
    SLUICE_RETURN_IF_ERROR(device_.copy_in(elements.as<void>(), recipe.elements.data(), table_bytes));
  }
  return launched(launch_random_elements(range_of(recipe, sizeof(Bits), first_byte, bytes), elements.as<const Bits>(),
                                         static_cast<Bits*>(to), device_.stream()));
}

Status DeviceRowMaker::make(const RandomRecipe& recipe, int64_t first_byte, int64_t bytes, void* to) {
  if (recipe.type == TensorType::kF32) return make_elements<uint32_t>(recipe, first_byte, bytes, to);
  if (!is_quantized(recipe.type)) return make_elements<uint16_t>(recipe, first_byte, bytes, to);
  return launched(launch_random_blocks(range_of(recipe, 1, first_byte, bytes), recipe.stamp,
                                       traits_of(recipe.type).block_bytes, static_cast<uint8_t*>(to),
                                       device_.stream()));
}

}  // namespace sluice::engine::cuda
