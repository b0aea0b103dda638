#pragma once

#include <cstdint>

#include "engine/cuda/kernels/expert_tile.cuh"
#include "engine/cuda/kernels/gate.cuh"
#include "engine/cuda/kernels/group.cuh"
#include "engine/model_config.h"

namespace sluice::engine::cuda {

/// Rows that are grouped by expert, each times the matrix of its expert:
///
///   out[row] = matrix * in[row's token]
///
/// or, gated, activation(gate * in) . (up * in), with gate the matrix's first `outputs` rows and up the others. Sums
/// are of floats, in an order that `length` alone decides.
template <typename Stored, typename Out>
struct GroupedProductArgs {
  const Stored* in = nullptr;               // [tokens, length], or [rows, length] without tokens_of
  const int32_t* tokens_of = nullptr;       // [rows], or null
  const Stored* const* matrices = nullptr;  // [experts] of [outputs, length], or gated [2 * outputs, length]
  const ExpertTile* tiles = nullptr;        // [tile_count]
  Out* out = nullptr;                       // [rows, outputs]
  int32_t tile_count = 0;
  int32_t outputs = 0;
  int32_t length = 0;
  GateActivation activation = GateActivation::kSilu;  ///< of a gated one
};

/// Rows of an expert's tile. Small tiles are for what reading matrices takes time for, large ones for arithmetic.
constexpr int32_t kFewTileRows = 16;
constexpr int32_t kManyTileRows = 64;

/// Where a block of a gated or a plain product finds its operands, and what becomes of its sums.
template <bool kIsGated, typename Stored, typename Out>
struct GroupedBlock {
  const GroupedProductArgs<Stored, Out>& args;
  const ExpertTile& tile;

  /// The expert's matrix row for an output: number 0 is that of the plain product or of the gate, 1 is up's.
  GPU_DEVICE const Stored* matrix_row(int32_t output, int32_t number) const {
    const int64_t row = int64_t{number} * args.outputs + output;
    return args.matrices[tile.expert] + row * args.length;
  }
  GPU_DEVICE const Stored* in_row(int32_t row) const {
    const int32_t at = tile.first + row;
    return args.in + int64_t{args.tokens_of == nullptr ? at : args.tokens_of[at]} * args.length;
  }
  GPU_DEVICE float gated(float gate, float up) const {
    return up * (args.activation == GateActivation::kSilu ? activate<GateActivation::kSilu>(gate)
                                                          : activate<GateActivation::kGeluTanh>(gate));
  }
  /// Where there is such a row and output.
  GPU_DEVICE void store(int32_t row, int32_t output, float value) const {
    if (row >= tile.count || output >= args.outputs) return;
    args.out[int64_t{tile.first + row} * args.outputs + output] = gpu::from_float<Out>(value);
  }
};

// ---- In float: a thread to an output of a row.

constexpr int32_t kFloatProductOutputs = 16;
constexpr int32_t kFloatProductThreads = kFewTileRows * kFloatProductOutputs;

GPU_DEVICE float float_dot(const float* a, const float* b, int32_t length) {
  float sum = 0;
  for (int32_t i = 0; i < length; ++i) sum = gpu::fma(a[i], b[i], sum);
  return sum;
}

template <bool kIsGated>
GPU_KERNEL(kFloatProductThreads)
void float_grouped_product_kernel(GroupedProductArgs<float, float> args) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const ExpertTile tile = args.tiles[gpu::block_index().y];
  const int32_t row = thread_number() / kFloatProductOutputs;
  const int32_t output = block_in_grid() * kFloatProductOutputs + thread_number() % kFloatProductOutputs;
  if (row >= tile.count || output >= args.outputs) return;
  const GroupedBlock<kIsGated, float, float> of_block{args, tile};
  const float* in = of_block.in_row(row);
  float value = float_dot(in, of_block.matrix_row(output, 0), args.length);
  if constexpr (kIsGated) value = of_block.gated(value, float_dot(in, of_block.matrix_row(output, 1), args.length));
  of_block.store(row, output, value);
}

// ---- In bf16: by products of matrices (gpu::multiply_add), with kProductStages stages of both operands in shared
// memory, of which all but one are on their way.

constexpr int32_t kProductThreads = 128;
constexpr int32_t kProductInner = 64;  ///< elements of a row in a stage
constexpr int32_t kProductStages = 3;

/// Eight elements more than there are: an odd number of 16-byte pieces, so that eight rows' pieces of one column, which
/// a matrix load reads at once, are in different banks.
struct alignas(16) ProductRow {
  gpu::Bf16 element[kProductInner + 8];
};

template <int32_t kRows, int32_t kMatrixRows>
struct ProductStage {
  ProductRow in[kRows];
  ProductRow matrix[kMatrixRows];
};

/// A block's kRows rows times kMatrixRows rows of a matrix. Of a gated product these are eight of gate and the eight of
/// up for the same outputs, and so on: neighbouring results of a warp's product are a gate and its up.
template <int32_t kRows, bool kIsGated, typename Out>
struct GroupedProductTile {
  static constexpr int32_t kMatrixRows = kRows == kFewTileRows ? 64 : 128;
  static constexpr int32_t kOutputs = kIsGated ? kMatrixRows / 2 : kMatrixRows;
  static constexpr int32_t kWarps = kProductThreads / gpu::kWarpSize;
  // Warps are laid out over the tile so that each loads about as much of either operand.
  static constexpr int32_t kWarpRows = kRows == kFewTileRows ? 16 : 32;
  static constexpr int32_t kWarpsDown = kRows / kWarpRows;
  static constexpr int32_t kWarpMatrixRows = kMatrixRows / (kWarps / kWarpsDown);
  static constexpr int32_t kRowsAtOnce = kProductThreads / 8;  ///< eight threads copy a row

  using Stage = ProductStage<kRows, kMatrixRows>;
  using Stages = Stage[kProductStages];

  const GroupedBlock<kIsGated, gpu::Bf16, Out>& of_block;
  int32_t first_output;
  bool has_whole_groups;
  const gpu::Bf16* in_rows[kRows / kRowsAtOnce];  // that this thread copies from; null: zeros
  float sums[kWarpRows / 16][kWarpMatrixRows / 8][4];

  GPU_DEVICE void begin() {
    has_whole_groups = of_block.args.length % kGroup == 0 && is_aligned(of_block.args.in);
    GPU_UNROLL
    for (int32_t i = 0; i < kRows / kRowsAtOnce; ++i) {
      const int32_t row = thread_number() / 8 + i * kRowsAtOnce;
      in_rows[i] = row < of_block.tile.count ? of_block.in_row(row) : nullptr;
    }
  }

  /// The row of the expert's matrix that is row `row` of the tile; null where there is no such output.
  GPU_DEVICE const gpu::Bf16* matrix_row(int32_t row) const {
    const int32_t output = first_output + (kIsGated ? row / 16 * 8 + row % 8 : row);
    if (output >= of_block.args.outputs) return nullptr;
    return of_block.matrix_row(output, kIsGated ? row / 8 % 2 : 0);
  }

  /// Elements [at, at + 8) of a row, zeros where there are none.
  GPU_DEVICE void put(gpu::Bf16* to, const gpu::Bf16* row, int32_t at) const {
    const int32_t length = row == nullptr ? 0 : of_block.args.length;
    if (has_whole_groups) {
      const bool exists = at < length;
      return gpu::copy_async(to, exists ? row + at : of_block.args.in, exists ? 16 : 0);
    }
    for (int32_t i = 0; i < kGroup; ++i) to[i] = at + i < length ? row[at + i] : gpu::Bf16{0};
  }

  /// Fills a stage with elements [from, from + kProductInner) of all rows.
  GPU_DEVICE void fill(Stage& stage, int32_t from) const {
    const int32_t first = thread_number() / 8;
    const int32_t column = thread_number() % 8 * 8;
    GPU_UNROLL
    for (int32_t i = 0; i < kRows / kRowsAtOnce; ++i)
      put(&stage.in[first + i * kRowsAtOnce].element[column], in_rows[i], from + column);
    GPU_UNROLL
    for (int32_t i = 0; i < kMatrixRows / kRowsAtOnce; ++i) {
      const int32_t row = first + i * kRowsAtOnce;
      put(&stage.matrix[row].element[column], matrix_row(row), from + column);
    }
  }

  GPU_DEVICE static int32_t first_row() { return gpu::warp() % kWarpsDown * kWarpRows; }
  GPU_DEVICE static int32_t first_matrix_row() { return gpu::warp() / kWarpsDown * kWarpMatrixRows; }

  /// A matrix's rows as they are stored are columns of a b operand.
  GPU_DEVICE void add(const Stage& stage) {
    const int32_t lane = gpu::lane();
    const ProductRow* rows = stage.in + first_row() + lane % 16;
    const ProductRow* matrix_rows = stage.matrix + first_matrix_row() + lane / 16 * 8 + lane % 8;
    GPU_UNROLL
    for (int32_t inner = 0; inner < kProductInner; inner += 16) {
      uint32_t a[kWarpRows / 16][4];
      GPU_UNROLL
      for (int32_t m = 0; m < kWarpRows / 16; ++m)
        gpu::load_matrices(a[m], &rows[m * 16].element[inner + lane / 16 * 8]);
      GPU_UNROLL
      for (int32_t n = 0; n < kWarpMatrixRows / 8; n += 2) {
        uint32_t b[4];
        gpu::load_matrices(b, &matrix_rows[n * 8].element[inner + lane / 8 % 2 * 8]);
        GPU_UNROLL
        for (int32_t m = 0; m < kWarpRows / 16; ++m) {
          gpu::multiply_add(sums[m][n], a[m], {b[0], b[1]});
          gpu::multiply_add(sums[m][n + 1], a[m], {b[2], b[3]});
        }
      }
    }
  }

  GPU_DEVICE void run(Stages& stages) {
    const int32_t length = of_block.args.length;
    GPU_UNROLL
    for (int32_t ahead = 0; ahead < kProductStages - 1; ++ahead) {
      fill(stages[ahead], ahead * kProductInner);
      gpu::copy_async_commit();
    }
    int32_t now = 0;
    for (int32_t from = 0; from < length; from += kProductInner) {
      gpu::copy_async_wait<kProductStages - 2>();
      gpu::sync_block();
      // All are done with the stage before this one, which is the one to fill next.
      const int32_t before = now == 0 ? kProductStages - 1 : now - 1;
      const int32_t next = from + (kProductStages - 1) * kProductInner;
      if (next < length) fill(stages[before], next);
      gpu::copy_async_commit();
      add(stages[now]);
      now = now == kProductStages - 1 ? 0 : now + 1;
    }
  }

  GPU_DEVICE void store() const {
    GPU_UNROLL
    for (int32_t m = 0; m < kWarpRows / 16; ++m) {
      GPU_UNROLL
      for (int32_t n = 0; n < kWarpMatrixRows / 8; n += kIsGated ? 2 : 1) {
        const int32_t matrix_row = first_matrix_row() + n * 8;
        const int32_t output = first_output + (kIsGated ? matrix_row / 2 : matrix_row) + gpu::lane() % 4 * 2;
        GPU_UNROLL
        for (int32_t c = 0; c < 4; ++c) {
          const int32_t row = first_row() + m * 16 + gpu::lane() / 4 + c / 2 * 8;
          float value = sums[m][n][c];
          if constexpr (kIsGated) value = of_block.gated(value, sums[m][n + 1][c]);
          of_block.store(row, output + c % 2, value);
        }
      }
    }
  }
};
// What a block may have on sm_89, which has the least.
static_assert(sizeof(GroupedProductTile<kManyTileRows, false, float>::Stages) <= gpu::kSharedBytesMax);

template <int32_t kRows, bool kIsGated, typename Out>
GPU_KERNEL(kProductThreads)
void grouped_product_kernel(GroupedProductArgs<gpu::Bf16, Out> args) {
  using Tile = GroupedProductTile<kRows, kIsGated, Out>;
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const ExpertTile tile = args.tiles[gpu::block_index().y];
  if (tile.count == 0) return;
  const GroupedBlock<kIsGated, gpu::Bf16, Out> of_block{args, tile};
  Tile product{of_block, block_in_grid() * Tile::kOutputs, false, {}, {}};
  product.begin();
  product.run(gpu::shared<typename Tile::Stages>());
  product.store();
}

// ---- Launches

/// Rows of the tiles that launch_grouped_product takes, for so many rows of all experts.
template <typename Stored>
constexpr int32_t grouped_tile_rows(int32_t /*rows*/, int32_t /*experts*/) {
  return kFewTileRows;
}
template <>
constexpr int32_t grouped_tile_rows<gpu::Bf16>(int32_t rows, int32_t experts) {
  return rows > kFewTileRows * experts ? kManyTileRows : kFewTileRows;
}

inline gpu::Launch grouped_launch(int32_t outputs, int32_t block_outputs, int32_t tile_count, int32_t threads,
                                  size_t shared_bytes, void* stream) {
  return {.grid = {static_cast<uint32_t>(divide_up(outputs, block_outputs)), static_cast<uint32_t>(tile_count)},
          .block = {static_cast<uint32_t>(threads)},
          .shared_bytes = shared_bytes,
          .stream = stream,
          .overlaps_previous = true};
}

template <bool kIsGated>
int32_t launch_grouped_product(const GroupedProductArgs<float, float>& args, int32_t /*tile_rows*/, void* stream) {
  return gpu::launch<float_grouped_product_kernel<kIsGated>>(
      grouped_launch(args.outputs, kFloatProductOutputs, args.tile_count, kFloatProductThreads, 0, stream), args);
}

template <int32_t kRows, bool kIsGated, typename Out>
int32_t launch_grouped_product_of(const GroupedProductArgs<gpu::Bf16, Out>& args, void* stream) {
  using Tile = GroupedProductTile<kRows, kIsGated, Out>;
  return gpu::launch<grouped_product_kernel<kRows, kIsGated, Out>>(
      grouped_launch(args.outputs, Tile::kOutputs, args.tile_count, kProductThreads, sizeof(typename Tile::Stages),
                     stream),
      args);
}

/// Of tiles of kFewTileRows or kManyTileRows rows, which make no difference to what comes out.
template <bool kIsGated, typename Out>
int32_t launch_grouped_product(const GroupedProductArgs<gpu::Bf16, Out>& args, int32_t tile_rows, void* stream) {
  if (tile_rows == kFewTileRows) return launch_grouped_product_of<kFewTileRows, kIsGated>(args, stream);
  return launch_grouped_product_of<kManyTileRows, kIsGated>(args, stream);
}

}  // namespace sluice::engine::cuda
