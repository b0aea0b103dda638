#pragma once

#include <cstdint>

#include "engine/cuda/kernels/attention_tile.cuh"

/// Attention of prompts: grid (query tiles of the longest row, heads, rows). A block takes 64 tokens of one row and one
/// query head through the keys they see. Tiles of keys begin at multiples of their size, so what a token gets does not
/// depend on the chunks in which its prompt comes.
namespace sluice::engine::cuda {

template <typename Element, typename Out>
struct PrefillArguments {
  Queries<gpu::Bf16> queries;
  PagedCache<Element> cache;
  AttentionRows rows;
  AttentionShape shape;
  Out* out;  // [tokens][heads][head_dim]
};

constexpr int32_t kPrefillThreads = 128;
constexpr int32_t kPrefillTokens = 64;  // sixteen a warp
template <int32_t kHeadDim>
constexpr int32_t kPrefillKeys = kHeadDim > 128 ? 32 : 64;

inline int32_t prefill_tiles(int32_t row_tokens_longest) {
  return (row_tokens_longest + kPrefillTokens - 1) / kPrefillTokens;
}

template <int32_t kHeadDim>
struct PrefillShared {
  TileRow<kHeadDim> queries[kPrefillTokens];
  KeyTile<kHeadDim, kPrefillKeys<kHeadDim>> stages[2];
};
// What a block may have on sm_89, which has the least.
static_assert(sizeof(PrefillShared<256>) <= gpu::kSharedBytesMax && sizeof(PrefillShared<128>) <= gpu::kSharedBytesMax);

/// The tokens of a block: `count` of them from `token` on, the first at `position`.
struct QueryTile {
  int32_t token;
  int32_t count;
  int32_t position;

  /// What tile row `row` sees. Rows beyond the count compute like the last, for nobody.
  GPU_DEVICE KeyRange seen_by(int32_t row, int32_t window) const {
    return visible_keys(position + (row < count ? row : count - 1), window);
  }
};

template <int32_t kHeadDim, typename Element, typename Out>
GPU_DEVICE void put_queries(TileRow<kHeadDim> (&to)[kPrefillTokens], const PrefillArguments<Element, Out>& arguments,
                            const QueryTile& tile, int32_t head) {
  for (int32_t row = thread_number() / 8; row < kPrefillTokens; row += kPrefillThreads / 8) {
    const bool exists = row < tile.count;
    const gpu::Bf16* from = arguments.queries.data +
                            (tile.token + (exists ? row : 0)) * arguments.queries.token_stride +
                            static_cast<int64_t>(head) * kHeadDim;
    for (int32_t dim = thread_number() % 8 * 8; dim < kHeadDim; dim += 64)
      put_octet(&to[row].element[dim], from + dim, exists);
  }
}

/// Takes a warp's rows through one tile of keys.
template <int32_t kHeadDim, int32_t kKeys>
GPU_DEVICE void attend_tile(WarpSoftmax<kHeadDim>& softmax, const PrefillShared<kHeadDim>& shared,
                            const KeyTile<kHeadDim, kKeys>& keys, int32_t from, const QueryTile& tile, int32_t window) {
  const int32_t first_row = gpu::warp() * 16;
  const int32_t row = first_row + gpu::lane() / 4;
  const KeyRange first_sees = tile.seen_by(first_row, window);
  const KeyRange last_sees = tile.seen_by(first_row + 15, window);
  if (from >= last_sees.end || from + kKeys <= first_sees.begin) return;
  const bool all_see = from >= last_sees.begin && from + kKeys <= first_sees.end;
  const KeyRange rows[2] = {tile.seen_by(row, window), tile.seen_by(row + 8, window)};
  softmax.template add<kKeys>(shared.queries + first_row, keys, 0, from, rows, all_see);
}

template <typename Out>
struct alignas(2 * sizeof(Out)) Pair {
  Out first;
  Out second;
};

template <int32_t kHeadDim, typename Out>
GPU_DEVICE void write_rows(const WarpSoftmax<kHeadDim>& softmax, Out* out, const QueryTile& tile, int32_t head,
                           int32_t head_count) {
  GPU_UNROLL
  for (int32_t r = 0; r < 2; ++r) {
    const int32_t row = gpu::warp() * 16 + gpu::lane() / 4 + 8 * r;
    if (row >= tile.count) continue;
    const float share = 1.0F / softmax.mass[r];
    Out* to = out + (static_cast<int64_t>(tile.token + row) * head_count + head) * kHeadDim + gpu::lane() % 4 * 2;
    GPU_UNROLL
    for (int32_t n = 0; n < kHeadDim / 8; ++n)
      gpu::as_one<Pair<Out>>(to + n * 8) = {gpu::from_float<Out>(softmax.sum[n][2 * r] * share),
                                            gpu::from_float<Out>(softmax.sum[n][2 * r + 1] * share)};
  }
}

template <int32_t kHeadDim, typename Element, typename Out>
GPU_DEVICE void attend_queries(const PrefillArguments<Element, Out>& arguments, const RowPages& pages,
                               const QueryTile& tile, int32_t head) {
  constexpr int32_t kKeys = kPrefillKeys<kHeadDim>;
  auto& shared = gpu::shared<PrefillShared<kHeadDim>>();
  const int32_t window = arguments.shape.window;
  const KeyRange seen = {tile.seen_by(0, window).begin, tile.seen_by(tile.count - 1, window).end};

  WarpSoftmax<kHeadDim> softmax{.scale_log2 = arguments.shape.scale_log2()};
  int32_t now = 0;
  int32_t from = seen.begin / kKeys * kKeys;
  put_queries(shared.queries, arguments, tile, head);
  put_keys<kPrefillThreads>(shared.stages[now], arguments.cache, pages, from, seen);
  gpu::copy_async_commit();
  for (; from < seen.end; from += kKeys, now ^= 1) {
    if (from + kKeys < seen.end)
      put_keys<kPrefillThreads>(shared.stages[now ^ 1], arguments.cache, pages, from + kKeys, seen);
    gpu::copy_async_commit();
    gpu::copy_async_wait<1>();
    gpu::sync_block();
    attend_tile(softmax, shared, shared.stages[now], from, tile, window);
    gpu::sync_block();
  }
  softmax.join_columns();
  write_rows(softmax, arguments.out, tile, head, arguments.shape.head_count);
}

template <int32_t kHeadDim, typename Element, typename Out>
GPU_KERNEL(kPrefillThreads)
void prefill_attention(PrefillArguments<Element, Out> arguments) {
  const AttentionShape& shape = arguments.shape;
  const int32_t head = static_cast<int32_t>(gpu::block_index().y);
  const int32_t row = static_cast<int32_t>(gpu::block_index().z);
  // The last tokens see most: their blocks begin first.
  const int32_t tile_number = static_cast<int32_t>(gpu::grid_size().x - 1 - gpu::block_index().x);
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const int32_t token = arguments.rows.row_begin[row] + tile_number * kPrefillTokens;
  const int32_t left = arguments.rows.row_begin[row + 1] - token;
  if (left <= 0) return;
  const QueryTile tile{token, left < kPrefillTokens ? left : kPrefillTokens, arguments.rows.positions[token]};
  const RowPages pages = pages_of(arguments.cache, arguments.rows, row, shape, head / shape.group());
  attend_queries<kHeadDim>(arguments, pages, tile, head);
}

}  // namespace sluice::engine::cuda
