#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/cached_head.cuh"
#include "engine/cuda/kernels/thread_number.cuh"

/// What the attention kernels are given: a ragged batch of rows, in device memory, and one layer's paged cache.
namespace sluice::engine::cuda {

/// Keys and values of one layer: each [blocks][kv_heads][block_size][head_dim].
template <typename Element>
struct PagedCache {
  const Element* keys;
  const Element* values;
  int32_t block_size;                  ///< a multiple of 8
  const HeadScales* scales = nullptr;  // [blocks][kv_heads][block_size] of Fp8 (cached_head.cuh), else none
};

/// Rows of an engine::Batch. A launch that leaves the first rows out shifts row_begin and table_begin by them: what
/// these hold counts from the beginning of the other two.
struct AttentionRows {
  const int32_t* row_begin;    // [rows + 1] into the tokens; a row without tokens is padding
  const int32_t* positions;    // [tokens]
  const int32_t* table_begin;  // [rows + 1] into block_ids
  const int32_t* block_ids;
};

struct AttentionShape {
  int32_t head_count;  ///< of the queries, a multiple of kv_head_count: head h reads kv head h / group
  int32_t kv_head_count;
  int32_t window;  ///< a token at position p sees those after p - window; 0: all up to its own
  float scale;     ///< of the scores, before softmax; above 0

  GPU_DEVICE int32_t group() const { return head_count / kv_head_count; }
  /// Softmax in powers of two: exp(scale * s) = exp2(scale_log2 * s).
  GPU_DEVICE float scale_log2() const { return scale * 1.44269504088896341F; }
};

/// [tokens][heads][head_dim], where a token's lie token_stride elements after the one's before: a multiple of 8.
template <typename Element>
struct Queries {
  const Element* data;
  int64_t token_stride;
};

/// Places [begin, end) of a sequence.
struct KeyRange {
  int32_t begin;
  int32_t end;

  GPU_DEVICE bool has(int32_t key) const { return key >= begin && key < end; }
};

GPU_DEVICE KeyRange visible_keys(int32_t position, int32_t window) {
  const int32_t end = position + 1;
  return {window > 0 && end > window ? end - window : 0, end};
}

/// Where one row's keys and values of one kv head lie.
struct RowPages {
  const int32_t* block_ids;  // the row's table
  int32_t block_size;
  int32_t kv_head_count;
  int32_t kv_head;

  /// Vectors of head_dim elements before this key's.
  GPU_DEVICE int64_t slot(int32_t key) const {
    const int32_t page = key / block_size;
    const int64_t block = static_cast<int64_t>(block_ids[page]) * kv_head_count + kv_head;
    return block * block_size + (key - page * block_size);
  }
};

template <typename Element>
GPU_DEVICE RowPages pages_of(const PagedCache<Element>& cache, const AttentionRows& rows, int32_t row,
                             const AttentionShape& shape, int32_t kv_head) {
  return {rows.block_ids + rows.table_begin[row], cache.block_size, shape.kv_head_count, kv_head};
}

/// Eight elements, which memory moves at once.
template <typename Element>
struct alignas(sizeof(Element) == 1 ? 8 : 16) Octet {
  Element element[8];
};

template <typename Element>
GPU_DEVICE void read_octet(float (&to)[8], const Element* from) {
  const Octet<Element> octet = gpu::as_one<const Octet<Element>>(from);
  GPU_UNROLL
  for (int32_t i = 0; i < 8; ++i) to[i] = gpu::to_float(octet.element[i]);
}

constexpr float kNoScore = -__builtin_inff();

/// Of a part of a softmax, or a key, below a new top: 0 where there is none, also while there is no top.
GPU_DEVICE float weight_of(float score, float top) {
  return score == kNoScore ? 0.0F : gpu::exp2(score - top);
}

}  // namespace sluice::engine::cuda
