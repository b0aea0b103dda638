#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/cuda/kernels/attention_batch.cuh"

/// A warp's part of FlashAttention-2 (Dao 2023): sixteen rows of queries against tiles of keys and values in shared
/// memory, by products of bf16 matrices whose sums, and a running softmax with them, stay in registers. g = lane / 4
/// and t = lane % 4 as in gpu::multiply_add: a lane has columns 2t and 2t + 1 of rows g and g + 8.
namespace sluice::engine::cuda {

/// Of a vector in shared memory. Eight elements more than its length: an odd number of 16-byte pieces, so that eight
/// vectors' pieces of one column, which a matrix load reads at once, are in different banks.
template <int32_t kHeadDim>
constexpr int32_t kTilePitch = kHeadDim + 8;

template <int32_t kHeadDim>
struct alignas(16) TileRow {
  static_assert(kHeadDim % 16 == 0 && kHeadDim > 0 && kHeadDim <= 256);
  gpu::Bf16 element[kTilePitch<kHeadDim>];
};

template <int32_t kHeadDim, int32_t kKeys>
struct KeyTile {
  TileRow<kHeadDim> keys[kKeys];
  TileRow<kHeadDim> values[kKeys];
};

/// Eight elements to shared memory, or zeros: bf16 while the thread goes on, others are converted on the way.
template <typename Element>
GPU_DEVICE void put_octet(gpu::Bf16* to, const Element* from, bool exists) {
  if constexpr (std::is_same_v<Element, gpu::Bf16>) {
    gpu::copy_async(to, from, exists ? 16 : 0);
  } else {
    float elements[8] = {};
    if (exists) read_octet(elements, from);
    Octet<gpu::Bf16> octet;
    GPU_UNROLL
    for (int32_t i = 0; i < 8; ++i) octet.element[i] = gpu::from_float<gpu::Bf16>(elements[i]);
    gpu::as_one<Octet<gpu::Bf16>>(to) = octet;
  }
}

/// A thread's eighth of a key and its value, or zeros: bf16 while the thread goes on, others are converted on the way,
/// and all of their loads are under way before the first is used.
template <int32_t kHeadDim, typename Element>
GPU_DEVICE void put_key(TileRow<kHeadDim>& key, TileRow<kHeadDim>& value, const PagedCache<Element>& cache,
                        int64_t slot, bool exists) {
  constexpr int32_t kOctets = (kHeadDim + 63) / 64;
  const int32_t first = thread_number() % 8 * 8;
  const Element* const from[2] = {cache.keys + slot * kHeadDim, cache.values + slot * kHeadDim};
  TileRow<kHeadDim>* const to[2] = {&key, &value};
  if constexpr (std::is_same_v<Element, gpu::Bf16>) {
    GPU_UNROLL
    for (int32_t i = 0; i < 2 * kOctets; ++i) {
      const int32_t dim = first + i / 2 * 64;
      if (dim < kHeadDim) gpu::copy_async(&to[i % 2]->element[dim], from[i % 2] + dim, exists ? 16 : 0);
    }
  } else {
    Octet<Element> held[2 * kOctets];
    const HeadScales scales = scales_at<Element>(cache.scales + slot);
    GPU_UNROLL
    for (int32_t i = 0; i < 2 * kOctets; ++i) {
      const int32_t dim = first + i / 2 * 64;
      held[i] = gpu::as_one<const Octet<Element>>(from[i % 2] + (dim < kHeadDim ? dim : 0));
    }
    GPU_UNROLL
    for (int32_t i = 0; i < 2 * kOctets; ++i) {
      const int32_t dim = first + i / 2 * 64;
      const float scale = i % 2 == 0 ? scales.key : scales.value;
      Octet<gpu::Bf16> octet;
      GPU_UNROLL
      for (int32_t e = 0; e < 8; ++e)
        octet.element[e] = gpu::from_float<gpu::Bf16>(exists ? gpu::to_float(held[i].element[e]) * scale : 0.0F);
      if (dim < kHeadDim) gpu::as_one<Octet<gpu::Bf16>>(&to[i % 2]->element[dim]) = octet;
    }
  }
}

/// Fills a tile with keys [from, from + kKeys) of a row, and with zeros outside of `seen`: what those slots hold, NaN
/// even, would get through a weight of zero. `seen` isn't empty. Done with after copies were committed and waited for,
/// and a barrier.
template <int32_t kThreads, int32_t kHeadDim, int32_t kKeys, typename Element>
GPU_DEVICE void put_keys(KeyTile<kHeadDim, kKeys>& to, const PagedCache<Element>& cache, const RowPages& pages,
                         int32_t from, KeyRange seen) {
  // Eight threads a key: 128 bytes of it at once. Slots are looked up together, without branches between: a key that
  // isn't seen has the slot of one that is.
  constexpr int32_t kRuns = kKeys * 8 / kThreads;
  static_assert(kRuns * kThreads == kKeys * 8);
  int64_t slots[kRuns];
  GPU_UNROLL
  for (int32_t run = 0; run < kRuns; ++run) {
    const int32_t key = from + thread_number() / 8 + run * (kThreads / 8);
    slots[run] = pages.slot(key < seen.begin ? seen.begin : key < seen.end ? key : seen.end - 1);
  }
  GPU_UNROLL
  for (int32_t run = 0; run < kRuns; ++run) {
    const int32_t key = thread_number() / 8 + run * (kThreads / 8);
    put_key(to.keys[key], to.values[key], cache, slots[run], seen.has(from + key));
  }
}

/// The running softmax of a warp's sixteen rows.
template <int32_t kHeadDim>
struct WarpSoftmax {
  float scale_log2;                     // above 0
  float top[2] = {kNoScore, kNoScore};  // before the scale
  float mass[2] = {};                   // of this lane's columns, until join_columns
  float sum[kHeadDim / 8][4] = {};      // [columns / 8]

  /// Adds a tile's keys [first, first + kKeys). `rows` says what rows g and g + 8 see and first_key which key of the
  /// sequence `first` is. `all_see` skips that: every row sees these keys.
  template <int32_t kKeys, int32_t kTileKeys>
  GPU_DEVICE void add(const TileRow<kHeadDim>* queries, const KeyTile<kHeadDim, kTileKeys>& tile, int32_t first,
                      int32_t first_key, const KeyRange (&rows)[2], bool all_see) {
    static_assert(kKeys % 16 == 0);
    float scores[kKeys / 8][4] = {};
    score<kKeys>(scores, queries, tile.keys + first);
    if (!all_see) hide_unseen<kKeys>(scores, first_key, rows);
    weigh<kKeys>(scores);
    add_values<kKeys>(scores, tile.values + first);
  }

  /// Makes mass whole in every lane.
  GPU_DEVICE void join_columns() {
    GPU_UNROLL
    for (int32_t r = 0; r < 2; ++r) {
      mass[r] += gpu::shuffle_xor(mass[r], 1);
      mass[r] += gpu::shuffle_xor(mass[r], 2);
    }
  }

 private:
  /// Queries x keys. A matrix of eight keys and eight dimensions as it is stored is a b operand: its columns are keys.
  template <int32_t kKeys>
  GPU_DEVICE static void score(float (&scores)[kKeys / 8][4], const TileRow<kHeadDim>* queries,
                               const TileRow<kHeadDim>* keys) {
    const int32_t lane = gpu::lane();
    const int32_t key = lane / 16 * 8 + lane % 8;
    GPU_UNROLL
    for (int32_t dim = 0; dim < kHeadDim; dim += 16) {
      uint32_t a[4];
      gpu::load_matrices(a, &queries[lane % 16].element[dim + lane / 16 * 8]);
      GPU_UNROLL
      for (int32_t n = 0; n < kKeys / 8; n += 2) {
        uint32_t b[4];
        gpu::load_matrices(b, &keys[n * 8 + key].element[dim + lane / 8 % 2 * 8]);
        gpu::multiply_add(scores[n], a, {b[0], b[1]});
        gpu::multiply_add(scores[n + 1], a, {b[2], b[3]});
      }
    }
  }

  template <int32_t kKeys>
  GPU_DEVICE static void hide_unseen(float (&scores)[kKeys / 8][4], int32_t first_key, const KeyRange (&rows)[2]) {
    GPU_UNROLL
    for (int32_t n = 0; n < kKeys / 8; ++n) {
      GPU_UNROLL
      for (int32_t c = 0; c < 4; ++c) {
        const int32_t key = first_key + n * 8 + gpu::lane() % 4 * 2 + c % 2;
        if (!rows[c / 2].has(key)) scores[n][c] = kNoScore;
      }
    }
  }

  /// Scores become weights below the new tops, to which what was summed before is brought.
  template <int32_t kKeys>
  GPU_DEVICE void weigh(float (&scores)[kKeys / 8][4]) {
    GPU_UNROLL
    for (int32_t r = 0; r < 2; ++r) {
      float larger = top[r];
      GPU_UNROLL
      for (int32_t n = 0; n < kKeys / 8; ++n) {
        larger = scores[n][2 * r] > larger ? scores[n][2 * r] : larger;
        larger = scores[n][2 * r + 1] > larger ? scores[n][2 * r + 1] : larger;
      }
      GPU_UNROLL
      for (int32_t step = 1; step <= 2; step *= 2) {
        const float other = gpu::shuffle_xor(larger, step);
        larger = other > larger ? other : larger;
      }
      // Without a key yet, exp2 is of -inf and not of -inf + inf. With no higher top what was summed stays to the bit,
      // so that a token doesn't notice tiles which others of its block need; fma and base round differently.
      const float base = larger == kNoScore ? 0.0F : larger * scale_log2;
      const float kept = larger == top[r] ? 1.0F : gpu::exp2(gpu::fma(top[r], scale_log2, -base));
      top[r] = larger;
      mass[r] *= kept;
      GPU_UNROLL
      for (int32_t n = 0; n < kKeys / 8; ++n) {
        scores[n][2 * r] = gpu::exp2(gpu::fma(scores[n][2 * r], scale_log2, -base));
        scores[n][2 * r + 1] = gpu::exp2(gpu::fma(scores[n][2 * r + 1], scale_log2, -base));
        mass[r] += scores[n][2 * r] + scores[n][2 * r + 1];
      }
      GPU_UNROLL
      for (int32_t n = 0; n < kHeadDim / 8; ++n) {
        sum[n][2 * r] *= kept;
        sum[n][2 * r + 1] *= kept;
      }
    }
  }

  /// Weights x values. Two neighbouring results of the first product are an a operand of the second as they lie.
  template <int32_t kKeys>
  GPU_DEVICE void add_values(const float (&weights)[kKeys / 8][4], const TileRow<kHeadDim>* values) {
    const int32_t lane = gpu::lane();
    GPU_UNROLL
    for (int32_t n = 0; n < kKeys / 8; n += 2) {
      const uint32_t a[4] = {gpu::pack_bf16(weights[n][0], weights[n][1]), gpu::pack_bf16(weights[n][2], weights[n][3]),
                             gpu::pack_bf16(weights[n + 1][0], weights[n + 1][1]),
                             gpu::pack_bf16(weights[n + 1][2], weights[n + 1][3])};
      GPU_UNROLL
      for (int32_t dim = 0; dim < kHeadDim; dim += 16) {
        uint32_t b[4];
        gpu::load_matrices_transposed(b, &values[n * 8 + lane % 16].element[dim + lane / 16 * 8]);
        gpu::multiply_add(sum[dim / 8], a, {b[0], b[1]});
        gpu::multiply_add(sum[dim / 8 + 1], a, {b[2], b[3]});
      }
    }
  }
};

}  // namespace sluice::engine::cuda
