#include "engine/cpu/matrix_product.h"

namespace sluice::engine::cpu {

namespace {

// How much of a tile's columns the L2 cache holds beside two panels' weights.
constexpr int64_t kTileBytes = 768 << 10;
constexpr int32_t kTileColumnsMax = 512;

Dot product_of(const Kernels& kernels, TensorType type) {
  return is_quantized(type) ? kernels.decode.dot[type] : kernels.dot_float[type];
}

int32_t round_up(int32_t count, int32_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
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
  product_of(kernels, panel.part->type)(panel.data(), columns.from(tile.token), tile.count, products.data());
}

Status ProductMemory::reserve(int32_t length) {
  if (length <= length_max_) return Status();
  const size_t bytes = 2 * static_cast<size_t>(length) * kPanelRows * sizeof(uint16_t);
  SLUICE_ASSIGN_OR_RETURN(weights_, HugeBuffer::allocate(bytes, "unpacked weights"));
  length_max_ = length;
  return Status();
}

int32_t prompt_tile_columns(int32_t length, int32_t count, int32_t pair_count, int32_t threads) {
  constexpr int32_t kItemsPerThread = 4;  // enough for claims to even out
  const auto fitting = static_cast<int32_t>(kTileBytes / (int64_t{length} * int64_t{sizeof(uint16_t)}));
  const int32_t tiles_wanted = (threads * kItemsPerThread + pair_count - 1) / pair_count;
  const int32_t shared = round_up((count + tiles_wanted - 1) / tiles_wanted, kPromptStep);
  return std::clamp(std::min(fitting / kPromptStep * kPromptStep, shared), kPromptStep, kTileColumnsMax);
}

void unpack_pair(const Kernels& kernels, const PanelPair& pair, ProductMemory& memory) {
  int32_t index = 0;
  for (const PanelRef& panel : {pair.first, pair.second}) {
    const Unpack unpack = kernels.prompt.unpack[panel.part->type];
    unpack(panel.data(), panel.part->length / kQuantBlock, memory.weights(index++));
  }
}

void multiply_unpacked(const Kernels& kernels, const ColumnBuffer& columns, const ColumnTile& step,
                       ProductMemory& memory) {
  const int32_t blocks = columns.length() / kQuantBlock;
  const Columns from = columns.from(step.token);
  kernels.prompt.multiply({.columns = from.halves,
                           .rests = from.rests,
                           .tile_stride = int64_t{blocks} * kQuantBlock * kColumnLanes,
                           .tiles = (step.count + kColumnLanes - 1) / kColumnLanes,
                           .blocks = blocks,
                           .first = memory.weights(0),
                           .second = memory.weights(1),
                           .first_out = memory.first.data(),
                           .second_out = memory.second.data()});
}

}  // namespace sluice::engine::cpu
