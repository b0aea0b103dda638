#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/cpu/column_buffer.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/thread_pool.h"
#include "engine/cpu/weight_store.h"

namespace sluice::engine::cpu {

/// Columns of one work item: so many quantised columns of a wide layer stay in the L2 cache.
inline constexpr int32_t kTokenTile = 128;

using PanelProducts = std::array<float, kTokenTile * kPanelRows>;  // [columns][16]

/// One panel times one tile of columns of one kind.
struct PanelTile {
  int32_t panel;
  int32_t token;  ///< the first column
  int32_t count;  ///< columns
};

/// Calls body(PanelTile) for those panels and tiles of columns [begin, end) that fall to this worker.
template <typename Body>
void for_each_panel_tile(ThreadPool::Worker& worker, int32_t panel_count, int32_t begin, int32_t end,
                         const QuantizedProducts& products, const Body& body) {
  if (begin == end) return;
  const int32_t items = panel_count * ((end - begin + kTokenTile - 1) / kTokenTile);
  const int32_t grain = std::clamp(items / (worker.thread_count() * 8), 1, 8);
  products.begin();
  worker.for_each(items, grain, [&](int32_t item) {
    const int32_t token = begin + item / panel_count * kTokenTile;
    body(PanelTile{item % panel_count, token, std::min(kTokenTile, end - token)});
  });
  products.end();
}

/// The same for all columns: drawn tokens, then prompts.
template <typename Body>
void for_each_panel_tile(ThreadPool::Worker& worker, const Kernels& kernels, const ColumnBuffer& columns,
                         int32_t panel_count, const Body& body) {
  for_each_panel_tile(worker, panel_count, 0, columns.decode_count(), kernels.decode, body);
  for_each_panel_tile(worker, panel_count, columns.decode_count(), columns.count(), kernels.prompt, body);
}

/// products[c][row] = the part's rows of the panel times columns tile.token + c.
void multiply_panel(const Kernels& kernels, const ColumnBuffer& columns, const PackedPart& part, const PanelTile& tile,
                    PanelProducts& products);

/// What multiply() gives for one panel and tile.
struct PanelResult {
  int32_t first_row;      ///< in the whole matrix
  int32_t row_count;      ///< rows of the panel that exist
  int32_t token;          ///< the first column
  int32_t count;          ///< columns
  const float* products;  ///< [count][kPanelRows]
};

/// Writes the result, plus `added` [all rows] unless that is null, to its places in to[tokens, width].
void put(const Kernels& kernels, const PanelResult& result, const float* added, float* to, int64_t width);
/// Adds the result to its places in to[tokens, width].
void add(const Kernels& kernels, const PanelResult& result, float* to, int64_t width);

/// Calls finish(PanelResult) for every panel of the matrix and every tile of columns, in a region.
template <typename Finish>
void multiply(ThreadPool::Worker& worker, const Kernels& kernels, const ColumnBuffer& columns,
              const PackedMatrix& matrix, PanelProducts& products, const Finish& finish) {
  for_each_panel_tile(worker, kernels, columns, matrix.panel_count, [&](PanelTile tile) {
    const PackedPart* part = matrix.parts.data();
    while (tile.panel >= part->panel_count()) tile.panel -= (part++)->panel_count();
    multiply_panel(kernels, columns, *part, tile, products);
    const int32_t row = tile.panel * kPanelRows;
    finish(PanelResult{part->row_begin + row, std::min(kPanelRows, part->row_count - row), tile.token, tile.count,
                       products.data()});
  });
}

}  // namespace sluice::engine::cpu
