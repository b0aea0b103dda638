#include "engine/cpu/matrix_product.h"

namespace sluice::engine::cpu {

namespace {

Dot dot_for(const Kernels& kernels, const QuantizedProducts& quantized, TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return kernels.dot_f32;
    case TensorType::kF16:
      return kernels.dot_f16;
    case TensorType::kBf16:
      return kernels.dot_bf16;
    case TensorType::kQ4_0:
      return quantized.q4_0;
    case TensorType::kQ4_1:
      return quantized.q4_1;
    case TensorType::kQ8_0:
      return quantized.q8_0;
  }
  SLUICE_CHECK(false && "a TensorType outside the enum");
}

}  // namespace

void multiply_panel(const Kernels& kernels, const ColumnBuffer& columns, const PackedPart& part, const PanelTile& tile,
                    PanelProducts& products) {
  const QuantizedProducts& quantized = tile.token < columns.decode_count() ? kernels.decode : kernels.prompt;
  dot_for(kernels, quantized, part.type)(part.panels + tile.panel * part.panel_bytes(), columns.from(tile.token),
                                         tile.count, products.data());
}

}  // namespace sluice::engine::cpu
