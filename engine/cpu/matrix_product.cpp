#include "engine/cpu/matrix_product.h"

namespace sluice::engine::cpu {

namespace {

const BlockProduct& product_for(const Kernels& kernels, const QuantizedProducts& quantized, TensorType type) {
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
    case TensorType::kQ5_1:
      return quantized.q5_1;
    case TensorType::kQ5_0:
    case TensorType::kQ8_0:
      return quantized.q8_0;
  }
  SLUICE_CHECK(false && "a TensorType outside the enum");
}

/// The products of a panel of this type with a tile's kind of columns.
const BlockProduct& product_for(const Kernels& kernels, const ColumnBuffer& columns, const ColumnTile& tile,
                                TensorType type) {
  return product_for(kernels, tile.token < columns.decode_count() ? kernels.decode : kernels.prompt, type);
}

/// Calls body(to's element, product, row) for a panel whose rows are not all there.
template <typename Body>
void for_each_product(const PanelResult& result, float* to, int64_t width, const Body& body) {
  for (int32_t c = 0; c < result.count; ++c) {
    for (int32_t row = 0; row < result.row_count; ++row) {
      body(to[c * width + row], result.products[c * kPanelRows + row], row);
    }
  }
}

void fetch_first(const PanelRef& panel) {
  const int64_t bytes = std::min(kPrefetchBytes, panel.part->panel_bytes());
  for (int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(panel.data() + line);
}

}  // namespace

void fetch_first(const ThreadPool::Worker& worker, const PackedMatrix& matrix) {
  const auto [begin, end] = worker.share_of(matrix.panel_count);
  if (begin < end) fetch_first(find_panel(matrix, begin));
}

void fetch_first(const ThreadPool::Worker& worker, const PackedPart& first, const PackedPart& second) {
  const auto [begin, end] = worker.share_of(first.panel_count());
  if (begin == end) return;
  fetch_first({&first, begin});
  fetch_first({&second, begin});
}

void put(const Kernels& kernels, const PanelResult& result, const float* added, float* to, int64_t width) {
  const float* rows_added = added == nullptr ? nullptr : added + result.first_row;
  to += result.token * width + result.first_row;
  if (result.row_count == kPanelRows) {
    return kernels.put_panel(result.products, result.count, rows_added, to, width);
  }
  for_each_product(result, to, width, [&](float& element, float product, int32_t row) {
    element = rows_added == nullptr ? product : product + rows_added[row];
  });
}

void add(const Kernels& kernels, const PanelResult& result, float* to, int64_t width) {
  to += result.token * width + result.first_row;
  if (result.row_count == kPanelRows) return kernels.add_panel(result.products, result.count, to, width);
  for_each_product(result, to, width, [](float& element, float product, int32_t /*row*/) { element += product; });
}

PanelRef find_panel(const PackedMatrix& matrix, int32_t panel) {
  const PackedPart* part = matrix.parts.data();
  while (panel >= part->panel_count()) panel -= (part++)->panel_count();
  return {part, panel};
}

void multiply_panel(const Kernels& kernels, const ColumnBuffer& columns, const PanelRef& panel, const ColumnTile& tile,
                    PanelProducts& products) {
  const BlockProduct& product = product_for(kernels, columns, tile, panel.part->type);
  product.panel(panel.data(), columns.from(tile.token), tile.count, products.data());
}

void multiply_panels(const Kernels& kernels, const ColumnBuffer& columns, const PanelRef& first, const PanelRef& second,
                     const ColumnTile& tile, ProductMemory& memory) {
  const BlockProduct& product = product_for(kernels, columns, tile, first.part->type);
  if (product.pair != nullptr && first.part->type == second.part->type) {
    return product.pair(first.data(), second.data(), columns.from(tile.token), tile.count, memory.first.data(),
                        memory.second.data());
  }
  multiply_panel(kernels, columns, first, tile, memory.first);
  multiply_panel(kernels, columns, second, tile, memory.second);
}

}  // namespace sluice::engine::cpu
