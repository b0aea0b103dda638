#pragma once

#include <cstdint>

#include "engine/cuda/kernels/attention_tile.cuh"
#include "engine/cuda/kernels/decode_partials.cuh"

/// decode_attention for groups of 4 to 16 heads and head sizes that are multiples of 16, by matrix products in bf16:
/// the heads of a group are the sixteen rows of queries. Grid (splits, kv_heads, rows). The warps of a block take
/// sixteen keys each of a tile and meet at the end.
namespace sluice::engine::cuda {

constexpr int32_t kGroupRows = 16;

template <int32_t kHeadDim>
struct GroupGeometry {
  /// Two tiles of 16 keys a warp fit into what sm_89 has.
  static constexpr int32_t kWarps = kHeadDim > 128 ? 2 : 4;
  static constexpr int32_t kThreads = kWarps * gpu::kWarpSize;
  static constexpr int32_t kKeys = kWarps * 16;
};

template <int32_t kHeadDim>
struct GroupTiles {
  TileRow<kHeadDim> queries[kGroupRows];
  KeyTile<kHeadDim, GroupGeometry<kHeadDim>::kKeys> stages[2];
};

template <int32_t kHeadDim>
union GroupShared {
  GroupTiles<kHeadDim> tiles;
  BlockPartials<GroupGeometry<kHeadDim>::kWarps, kGroupRows, kHeadDim> partials;  // when the tiles are done with
};
static_assert(sizeof(GroupShared<256>) <= gpu::kSharedBytesMax && sizeof(GroupShared<128>) <= gpu::kSharedBytesMax);

template <int32_t kHeadDim, typename Query, typename Element, typename Out>
GPU_DEVICE void put_group(TileRow<kHeadDim> (&to)[kGroupRows], const DecodeArguments<Query, Element, Out>& arguments,
                          const PartialTarget& target) {
  constexpr int32_t kThreads = GroupGeometry<kHeadDim>::kThreads;
  const Query* queries = arguments.queries.data + target.token * arguments.queries.token_stride +
                         static_cast<int64_t>(target.head) * kHeadDim;
  for (int32_t row = thread_number() / 8; row < kGroupRows; row += kThreads / 8) {
    const bool exists = row < target.heads;
    const Query* from = queries + (exists ? row : 0) * kHeadDim;
    for (int32_t dim = thread_number() % 8 * 8; dim < kHeadDim; dim += 64)
      put_octet(&to[row].element[dim], from + dim, exists);
  }
}

template <int32_t kHeadDim, int32_t kWarps>
GPU_DEVICE void keep_partials(BlockPartials<kWarps, kGroupRows, kHeadDim>& to, const WarpSoftmax<kHeadDim>& softmax) {
  GPU_UNROLL
  for (int32_t r = 0; r < 2; ++r) {
    const int32_t row = gpu::lane() / 4 + 8 * r;
    const int32_t column = gpu::lane() % 4 * 2;
    GPU_UNROLL
    for (int32_t n = 0; n < kHeadDim / 8; ++n) {
      to.sum[gpu::warp()][row][n * 8 + column] = softmax.sum[n][2 * r];
      to.sum[gpu::warp()][row][n * 8 + column + 1] = softmax.sum[n][2 * r + 1];
    }
    if (column == 0) to.top[gpu::warp()][row] = softmax.top[r] * softmax.scale_log2;
    if (column == 0) to.mass[gpu::warp()][row] = softmax.mass[r];
  }
}

/// Two tiles: one is copied while the other is added. Ends with a barrier behind the last use of the tiles.
template <int32_t kHeadDim, typename Query, typename Element, typename Out>
GPU_DEVICE void attend_group(WarpSoftmax<kHeadDim>& softmax, GroupTiles<kHeadDim>& tiles,
                             const DecodeArguments<Query, Element, Out>& arguments, const RowPages& pages,
                             const PartialTarget& target, KeyRange part) {
  constexpr int32_t kThreads = GroupGeometry<kHeadDim>::kThreads;
  constexpr int32_t kKeys = GroupGeometry<kHeadDim>::kKeys;
  const int32_t first = gpu::warp() * 16;
  int32_t now = 0;
  int32_t from = part.begin;
  put_group(tiles.queries, arguments, target);
  put_keys<kThreads>(tiles.stages[now], arguments.cache, pages, from, part);
  gpu::copy_async_commit();
  for (; from < part.end; from += kKeys, now ^= 1) {
    if (from + kKeys < part.end) put_keys<kThreads>(tiles.stages[now ^ 1], arguments.cache, pages, from + kKeys, part);
    gpu::copy_async_commit();
    gpu::copy_async_wait<1>();
    gpu::sync_block();
    const int32_t key = from + first;
    if (key < part.end)
      softmax.template add<16>(tiles.queries, tiles.stages[now], first, key, {part, part}, key + 16 <= part.end);
    gpu::sync_block();
  }
  softmax.join_columns();
}

template <int32_t kHeadDim, typename Query, typename Element, typename Out>
GPU_KERNEL(GroupGeometry<kHeadDim>::kThreads)
void decode_attention_mma(DecodeArguments<Query, Element, Out> arguments) {
  const AttentionShape& shape = arguments.shape;
  const int32_t kv_head = static_cast<int32_t>(gpu::block_index().y);
  const int32_t row = static_cast<int32_t>(gpu::block_index().z);
  PartialTarget target{.token = 0,
                       .head = kv_head * shape.group(),
                       .heads = shape.group(),
                       .split = static_cast<int32_t>(gpu::block_index().x),
                       .parts = 0};
  auto& shared = gpu::shared<GroupShared<kHeadDim>>();
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const RowPages pages = pages_of(arguments.cache, arguments.rows, row, shape, kv_head);
  for (target.token = arguments.rows.row_begin[row]; target.token < arguments.rows.row_begin[row + 1]; ++target.token) {
    const KeyRange seen = visible_keys(arguments.rows.positions[target.token], shape.window);
    const KeyRange part = split_part(seen, target.split, arguments.limits);
    if (part.begin >= part.end) continue;
    target.parts = split_count(seen, arguments.limits);
    WarpSoftmax<kHeadDim> softmax{.scale_log2 = shape.scale_log2()};
    attend_group(softmax, shared.tiles, arguments, pages, target, part);
    keep_partials(shared.partials, softmax);
    gpu::sync_block();
    write_block_partials(shared.partials, arguments, target);
    gpu::sync_block();  // the next token's copies
  }
}

}  // namespace sluice::engine::cuda
