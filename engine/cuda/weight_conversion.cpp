#include "engine/cuda/weight_conversion.h"

#include "engine/cuda/kernels/dequantize.cuh"
#include "engine/cuda/kernels/quantize_rows.cuh"
#include "engine/cuda/kernels/rows.cuh"
#include "engine/quant_scheme.h"

namespace sluice::engine::cuda {
namespace {

template <typename Out>
int32_t launch_to(const StoredElements& from, Out* to, void* stream) {
  switch (from.type) {
    case TensorType::kF32:
      return launch_convert(to, static_cast<const float*>(from.data), from.count, stream);
    case TensorType::kF16:
      return launch_convert(to, static_cast<const gpu::Half*>(from.data), from.count, stream);
    case TensorType::kBf16:
      return launch_convert(to, static_cast<const gpu::Bf16*>(from.data), from.count, stream);
    default:
      return launch_dequantize(from.type,
                               DequantizeArgs<Out>{.blocks = static_cast<const uint8_t*>(from.data),
                                                   .out = to,
                                                   .block_count = from.count / traits_of(from.type).block_elements},
                               stream);
  }
}

}  // namespace

bool is_stored_as(TensorType type, Element element) {
  return type == (element == Element::kF32 ? TensorType::kF32 : TensorType::kBf16);
}

int32_t launch_weight_conversion(const StoredElements& from, Element element, void* to, void* stream) {
  if (element == Element::kF32) return launch_to(from, static_cast<float*>(to), stream);
  return launch_to(from, static_cast<gpu::Bf16*>(to), stream);
}

int32_t launch_row_rounding(const RowRounding& rounding, void* stream) {
  return launch_quantize_rows(QuantizeRowsArgs<gpu::Bf16>{.in = static_cast<const gpu::Bf16*>(rounding.from),
                                                          .out = static_cast<gpu::Fp8*>(rounding.to),
                                                          .scales = rounding.scales,
                                                          .rows = rounding.rows,
                                                          .width = rounding.length},
                              stream);
}

}  // namespace sluice::engine::cuda
