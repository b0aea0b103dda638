#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/cpu/column_buffer.h"
#include "engine/cpu/huge_buffer.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/thread_pool.h"
#include "engine/cpu/weight_store.h"

namespace sluice::engine::cpu {

/// Columns of one work item of drawn tokens.
inline constexpr int32_t kTokenTile = 128;
/// Columns of a prompt that are multiplied, and finished, at a time.
inline constexpr int32_t kPromptStep = 2 * kColumnLanes;

using PanelProducts = std::array<float, kTokenTile * kPanelRows>;  // [columns][16]

/// Products of up to two panels, and what they are computed from. One thread's own.
class ProductMemory {
 public:
  /// Room for unpacked rows of `length`; never shrinks.
  Status reserve(int32_t length);
  /// Of panel 0 or 1; see Unpack.
  uint16_t* weights(int32_t panel) { return weights_.as<uint16_t>() + int64_t{panel} * length_max_ * kPanelRows; }

  PanelProducts first;
  PanelProducts second;

 private:
  int32_t length_max_ = 0;
  HugeBuffer weights_;  // [2, length_max, 16]
};

/// A run of columns of one kind.
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

/// Two panels whose products are computed at once; `second` may be the first again.
struct PanelPair {
  PanelRef first;
  PanelRef second;
};

/// Calls body(group, ColumnTile) for those groups of panels and tiles of drawn tokens' columns that fall to this
/// worker.
template <typename Body>
void for_each_group(ThreadPool::Worker& worker, const Kernels& kernels, const ColumnBuffer& columns,
                    int32_t group_count, const Body& body) {
  const int32_t count = columns.decode_count();
  if (count == 0) return;
  const int32_t items = group_count * ((count + kTokenTile - 1) / kTokenTile);
  const int32_t grain = std::clamp(items / (worker.thread_count() * 8), 1, 8);
  kernels.decode.begin();
  worker.for_each(items, grain, [&](int32_t item) {
    const int32_t token = item / group_count * kTokenTile;
    body(item % group_count, ColumnTile{token, std::min(kTokenTile, count - token)});
  });
  kernels.decode.end();
}

/// products[c][row] = the panel's rows times column tile.token + c, of a drawn token.
void multiply_panel(const Kernels& kernels, const ColumnBuffer& columns, const PanelRef& panel, const ColumnTile& tile,
                    PanelProducts& products);

/// How many columns of `count` share one unpacking of their weights: many, but so few that they stay in the L2 cache
/// and that every thread has something to do. A multiple of kPromptStep.
int32_t prompt_tile_columns(int32_t length, int32_t count, int32_t pair_count, int32_t threads);
void unpack_pair(const Kernels& kernels, const PanelPair& pair, ProductMemory& memory);
/// memory's products = the unpacked rows times columns of a prompt, at most kPromptStep.
void multiply_unpacked(const Kernels& kernels, const ColumnBuffer& columns, const ColumnTile& step,
                       ProductMemory& memory);

/// Calls finish(pair, ColumnTile) once memory holds the products of the panels pair_at(pair), for every pair and all
/// columns of prompts, in a region.
template <typename PairAt, typename Finish>
void multiply_pairs(ThreadPool::Worker& worker, const Kernels& kernels, const ColumnBuffer& columns, int32_t pair_count,
                    const PairAt& pair_at, ProductMemory& memory, const Finish& finish) {
  const int32_t begin = columns.decode_count();
  const int32_t count = columns.count() - begin;
  if (count == 0) return;
  const int32_t tile = prompt_tile_columns(columns.length(), count, pair_count, worker.thread_count());
  kernels.prompt.begin();
  worker.for_each(pair_count * ((count + tile - 1) / tile), 1, [&](int32_t item) {
    unpack_pair(kernels, pair_at(item % pair_count), memory);
    const int32_t tile_begin = begin + item / pair_count * tile;
    const int32_t tile_end = std::min(tile_begin + tile, columns.count());
    for (int32_t token = tile_begin; token < tile_end; token += kPromptStep) {
      const ColumnTile step{token, std::min(kPromptStep, tile_end - token)};
      multiply_unpacked(kernels, columns, step, memory);
      finish(item % pair_count, step);
    }
  });
  kernels.prompt.end();
}

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
  for_each_group(worker, kernels, columns, matrix.panel_count, [&](int32_t index, const ColumnTile& tile) {
    const PanelRef panel = find_panel(matrix, index);
    multiply_panel(kernels, columns, panel, tile, memory.first);
    finish_panel(panel, tile, memory.first);
  });
  // Prompts: two by two; if their number is odd, the last one with itself.
  const auto pair_at = [&](int32_t pair) {
    return PanelPair{find_panel(matrix, 2 * pair), find_panel(matrix, std::min(2 * pair + 1, matrix.panel_count - 1))};
  };
  multiply_pairs(worker, kernels, columns, (matrix.panel_count + 1) / 2, pair_at, memory,
                 [&](int32_t pair, const ColumnTile& tile) {
                   finish_panel(find_panel(matrix, 2 * pair), tile, memory.first);
                   if (2 * pair + 1 == matrix.panel_count) return;
                   finish_panel(find_panel(matrix, 2 * pair + 1), tile, memory.second);
                 });
}

/// Calls finish(panel, ColumnTile) once memory holds the products of panel `panel` of both parts, which are alike in
/// shape, for every panel and tile of columns, in a region.
template <typename Finish>
void multiply_side_by_side(ThreadPool::Worker& worker, const Kernels& kernels, const ColumnBuffer& columns,
                           const PackedPart& first, const PackedPart& second, ProductMemory& memory,
                           const Finish& finish) {
  for_each_group(worker, kernels, columns, first.panel_count(), [&](int32_t panel, const ColumnTile& tile) {
    multiply_panel(kernels, columns, {&first, panel}, tile, memory.first);
    multiply_panel(kernels, columns, {&second, panel}, tile, memory.second);
    finish(panel, tile);
  });
  const auto pair_at = [&](int32_t panel) { return PanelPair{{&first, panel}, {&second, panel}}; };
  multiply_pairs(worker, kernels, columns, first.panel_count(), pair_at, memory, finish);
}

}  // namespace sluice::engine::cpu
