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

/// Products of up to two panels.
struct ProductMemory {
  PanelProducts first;
  PanelProducts second;
};

/// A run of columns of one kind, at most kTokenTile.
struct ColumnTile {
  int32_t token;  ///< the first column
  int32_t count;  ///< columns
};

/// A panel, by the part of the matrix it is in.
struct PanelRef {
  const PackedPart* part;
  int32_t panel;

  const std::byte* data() const { return part->panels + panel * part->panel_bytes(); }
  int32_t first_row() const { return part->row_begin + panel * kPanelRows; }
  int32_t row_count() const { return std::min(kPanelRows, part->row_count - panel * kPanelRows); }
};

/// Panel `panel` of the matrix, counted through all its parts.
PanelRef find_panel(const PackedMatrix& matrix, int32_t panel);

/// Calls body(group, ColumnTile) for those groups of panels and tiles of columns [begin, end) that fall to this worker.
template <typename Body>
void for_each_group(ThreadPool::Worker& worker, int32_t group_count, int32_t begin, int32_t end,
                    const QuantizedProducts& products, const Body& body) {
  if (begin == end) return;
  const int32_t items = group_count * ((end - begin + kTokenTile - 1) / kTokenTile);
  const int32_t grain = std::clamp(items / (worker.thread_count() * 8), 1, 8);
  products.begin();
  worker.for_each(items, grain, [&](int32_t item) {
    const int32_t token = begin + item / group_count * kTokenTile;
    body(item % group_count, ColumnTile{token, std::min(kTokenTile, end - token)});
  });
  products.end();
}

/// products[c][row] = the panel's rows times column tile.token + c.
void multiply_panel(const Kernels& kernels, const ColumnBuffer& columns, const PanelRef& panel, const ColumnTile& tile,
                    PanelProducts& products);
/// The same for two panels, at once where the instruction set gains by it.
void multiply_panels(const Kernels& kernels, const ColumnBuffer& columns, const PanelRef& first, const PanelRef& second,
                     const ColumnTile& tile, ProductMemory& memory);

/// Begins to fetch the panels that multiply() or, of both parts, multiply_side_by_side() gives to this worker first: to
/// be called before the columns are made, which leaves the memory idle.
void fetch_first(const ThreadPool::Worker& worker, const PackedMatrix& matrix);
void fetch_first(const ThreadPool::Worker& worker, const PackedPart& first, const PackedPart& second);

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
              const PackedMatrix& matrix, ProductMemory& memory, const Finish& finish) {
  const auto finish_panel = [&](const PanelRef& panel, const ColumnTile& tile, const PanelProducts& products) {
    finish(PanelResult{panel.first_row(), panel.row_count(), tile.token, tile.count, products.data()});
  };
  // Drawn tokens: panel by panel, the finer the better shared out.
  for_each_group(worker, matrix.panel_count, 0, columns.decode_count(), kernels.decode,
                 [&](int32_t index, const ColumnTile& tile) {
                   const PanelRef panel = find_panel(matrix, index);
                   multiply_panel(kernels, columns, panel, tile, memory.first);
                   finish_panel(panel, tile, memory.first);
                 });
  // Prompts: two by two, the last one alone if their number is odd.
  for_each_group(worker, (matrix.panel_count + 1) / 2, columns.decode_count(), columns.count(), kernels.prompt,
                 [&](int32_t pair, const ColumnTile& tile) {
                   const PanelRef first = find_panel(matrix, 2 * pair);
                   if (2 * pair + 1 == matrix.panel_count) {
                     multiply_panel(kernels, columns, first, tile, memory.first);
                     return finish_panel(first, tile, memory.first);
                   }
                   const PanelRef second = find_panel(matrix, 2 * pair + 1);
                   multiply_panels(kernels, columns, first, second, tile, memory);
                   finish_panel(first, tile, memory.first);
                   finish_panel(second, tile, memory.second);
                 });
}

/// Calls finish(panel, ColumnTile) once memory holds the products of panel `panel` of both parts, which are alike in
/// shape, for every panel and tile of columns, in a region.
template <typename Finish>
void multiply_side_by_side(ThreadPool::Worker& worker, const Kernels& kernels, const ColumnBuffer& columns,
                           const PackedPart& first, const PackedPart& second, ProductMemory& memory,
                           const Finish& finish) {
  const auto multiply_both = [&](int32_t panel, const ColumnTile& tile) {
    multiply_panels(kernels, columns, {&first, panel}, {&second, panel}, tile, memory);
    finish(panel, tile);
  };
  for_each_group(worker, first.panel_count(), 0, columns.decode_count(), kernels.decode, multiply_both);
  for_each_group(worker, first.panel_count(), columns.decode_count(), columns.count(), kernels.prompt, multiply_both);
}

}  // namespace sluice::engine::cpu
