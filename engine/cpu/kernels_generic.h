#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"

// Kernels written once over a vector type V that each instruction set's file defines in its anonymous namespace; so
// every instantiation belongs to that file alone. V has kLanes floats in a V::Float, and the tile sizes its registers
// allow.

namespace sluice::engine::cpu {

/// A tile size as a type, so that loops over it unroll into registers.
template <int N>
struct Tile {
  static constexpr int kSize = N;
};

/// Calls body(Tile<n>) for n in [1, N].
template <int N, typename Body>
void with_tile(int32_t n, const Body& body) {
  if constexpr (N > 1) {
    if (n < N) return with_tile<N - 1>(n, body);
  }
  body(Tile<N>());
}

/// Calls body(Tile<n>, begin) for runs of up to N of [0, count).
template <int N, typename Body>
void for_each_tile(int32_t count, const Body& body) {
  for (int32_t begin = 0; begin < count; begin += N) {
    with_tile<N>(count - begin < N ? count - begin : N, [&](auto tile) { body(tile, begin); });
  }
}

/// e^x to about 1e-7 relative for x in [-87, 88], and as at the nearer end outside: 2^n * e^r with |r| <= ln(2) / 2.
template <typename V>
typename V::Float exponential(typename V::Float x) {
  x = V::min(V::max(x, V::set(-87.0F)), V::set(88.0F));
  const auto n = V::round(V::mul(x, V::set(1.44269504F)));
  // ln 2 in two parts, so that the first product is exact.
  auto r = V::fma(n, V::set(-0.693359375F), x);
  r = V::fma(n, V::set(2.12194440e-4F), r);
  auto p = V::set(1.0F / 5040);
  p = V::fma(p, r, V::set(1.0F / 720));
  p = V::fma(p, r, V::set(1.0F / 120));
  p = V::fma(p, r, V::set(1.0F / 24));
  p = V::fma(p, r, V::set(1.0F / 6));
  p = V::fma(p, r, V::set(0.5F));
  p = V::fma(p, r, V::set(1.0F));
  p = V::fma(p, r, V::set(1.0F));
  return V::mul(p, V::power_of_two(n));
}

template <typename V>
struct F32 {
  using Stored = float;
  static typename V::Float load(const float* from) { return V::load(from); }
};
template <typename V>
struct F16 {
  using Stored = uint16_t;
  static typename V::Float load(const uint16_t* from) { return V::load_f16(from); }
};
template <typename V>
struct Bf16 {
  using Stored = uint16_t;
  static typename V::Float load(const uint16_t* from) { return V::load_bf16(from); }
};

template <typename V, typename Element>
void dot_float(const std::byte* panel, const Columns& columns, int32_t count, float* out) {
  constexpr int kParts = kPanelRows / V::kLanes;
  const auto* weights = reinterpret_cast<const typename Element::Stored*>(panel);
  for_each_tile<V::kColumns>(count, [&](auto tile, int32_t begin) {
    constexpr int kTile = decltype(tile)::kSize;
    const float* x = columns.floats + int64_t{begin} * columns.length;
    typename V::Float sums[kTile][kParts];
#pragma GCC unroll 32
    for (int i = 0; i < kTile * kParts; ++i) sums[i / kParts][i % kParts] = V::set(0);
    for (int32_t k = 0; k < columns.length; ++k) {
#pragma GCC unroll 4
      for (int part = 0; part < kParts; ++part) {
        const auto w = Element::load(weights + int64_t{k} * kPanelRows + part * V::kLanes);
#pragma GCC unroll 8
        for (int c = 0; c < kTile; ++c) {
          sums[c][part] = V::fma(w, V::set(x[int64_t{c} * columns.length + k]), sums[c][part]);
        }
      }
    }
#pragma GCC unroll 32
    for (int i = 0; i < kTile * kParts; ++i) {
      V::store(out + (begin + i / kParts) * kPanelRows + i % kParts * V::kLanes, sums[i / kParts][i % kParts]);
    }
  });
}

template <typename V>
void quantize(const float* x, int32_t length, int8_t* values, float* scales, float* sums, int32_t* offsets) {
  for (int32_t block = 0; block < length / kQuantBlock; ++block, x += kQuantBlock, values += kQuantBlock) {
    auto largest = V::set(0);
    for (int i = 0; i < kQuantBlock; i += V::kLanes) largest = V::max(largest, V::abs(V::load(x + i)));
    const float top = V::max_of(largest);
    const auto inverse = V::set(top > 0 ? 127.0F / top : 0.0F);
    auto sum = V::set(0);
    for (int i = 0; i < kQuantBlock; i += V::kLanes) {
      const auto rounded = V::round(V::mul(V::load(x + i), inverse));
      V::store_int8(values + i, rounded);
      sum = V::add(sum, rounded);  // small integers: exact
    }
    const float total = V::sum_of(sum);
    scales[block] = top / 127.0F;
    sums[block] = scales[block] * total;
    offsets[block] = -128 * static_cast<int32_t>(total);
  }
}

template <typename V>
void rms_norm(const float* x, const float* weight, int32_t length, float epsilon, float* out) {
  const int32_t whole = length - length % V::kLanes;
  auto squares = V::set(0);
  for (int32_t i = 0; i < whole; i += V::kLanes) squares = V::fma(V::load(x + i), V::load(x + i), squares);
  float total = V::sum_of(squares);
  for (int32_t i = whole; i < length; ++i) total += x[i] * x[i];
  const float factor = 1.0F / __builtin_sqrtf(total / static_cast<float>(length) + epsilon);
  for (int32_t i = 0; i < whole; i += V::kLanes) {
    V::store(out + i, V::mul(V::mul(V::load(x + i), V::set(factor)), V::load(weight + i)));
  }
  for (int32_t i = whole; i < length; ++i) out[i] = x[i] * factor * weight[i];
}

template <typename V>
void silu_multiply(float* gate, const float* up, int32_t count) {
  for (int32_t i = 0; i < count; i += V::kLanes) {
    const auto g = V::load(gate + i);
    const auto one_plus = V::add(V::set(1), exponential<V>(V::sub(V::set(0), g)));
    V::store(gate + i, V::mul(V::div(g, one_plus), V::load(up + i)));
  }
}

template <typename V>
void store_f16(const float* x, int32_t count, uint16_t* out) {
  const int32_t whole = count - count % V::kLanes;
  for (int32_t i = 0; i < whole; i += V::kLanes) V::store_f16(out + i, V::load(x + i));
  for (int32_t i = whole; i < count; ++i) out[i] = V::to_f16(x[i]);
}

template <typename V>
void store_bf16(const float* x, int32_t count, uint16_t* out) {
  const int32_t whole = count - count % V::kLanes;
  for (int32_t i = 0; i < whole; i += V::kLanes) V::store_bf16(out + i, V::load(x + i));
  for (int32_t i = whole; i < count; ++i) out[i] = V::to_bf16(x[i]);
}

/// One AttendTask. Keys and values of 32 positions at a time become floats, shared by all queries of the task; each
/// query then updates its running softmax (Milakov & Gimelshein 2018). Chunks begin at multiples of 32 positions, so
/// the order of a query's sums depends on its position alone.
template <typename V, typename Element>
class Attention {
 public:
  explicit Attention(const AttendTask& task)
      : task_(task),
        padded_dim_((task.head_dim + 15) / 16 * 16),
        query_count_(task.token_count * task.group),
        keys_(task.scratch),
        values_(keys_ + int64_t{kKeyChunk} * task.head_dim),
        outputs_(values_ + int64_t{kKeyChunk} * padded_dim_),
        scores_(outputs_ + int64_t{query_count_} * padded_dim_),
        tops_(scores_ + int64_t{query_count_} * kKeyChunk),
        totals_(tops_ + query_count_) {}

  void run() {
    clear();
    const int32_t end = task_.first_position + task_.token_count;
    for (int32_t chunk = 0; chunk < end; chunk += kKeyChunk) {
      const int32_t key_count = end - chunk < kKeyChunk ? end - chunk : kKeyChunk;
      load_chunk(chunk, key_count);
      // Tokens before the chunk see nothing of it.
      const int32_t first_token = chunk > task_.first_position ? chunk - task_.first_position : 0;
      const int32_t first_query = first_token * task_.group;
      for_each_tile<V::kQueries>(query_count_ - first_query, [&](auto tile, int32_t begin) {
        score(tile, first_query + begin);
        for (int32_t i = 0; i < decltype(tile)::kSize; ++i) update_softmax(first_query + begin + i, chunk);
        add_values(tile, first_query + begin, key_count);
      });
    }
    for (int32_t query = 0; query < query_count_; ++query) finish(query);
  }

 private:
  static constexpr int kKeyParts = kKeyChunk / V::kLanes;
  // Below every score, yet far enough from infinity that differences stay numbers.
  static constexpr float kLowest = -1e30F;

  void clear() {
    for (int64_t i = 0; i < int64_t{query_count_} * padded_dim_; ++i) outputs_[i] = 0;
    for (int32_t query = 0; query < query_count_; ++query) {
      tops_[query] = kLowest;
      totals_[query] = 0;
    }
  }

  static void to_floats(const uint16_t* from, int32_t count, float* to) {
    const int32_t whole = count - count % V::kLanes;
    for (int32_t i = 0; i < whole; i += V::kLanes) V::store(to + i, Element::load(from + i));
    if (whole == count) return;
    uint16_t tail[V::kLanes] = {};
    float floats[V::kLanes];
    for (int32_t i = whole; i < count; ++i) tail[i - whole] = from[i];
    V::store(floats, Element::load(tail));
    for (int32_t i = whole; i < count; ++i) to[i] = floats[i - whole];
  }

  // Places past key_count and columns past head_dim keep whatever they hold: their scores are overwritten and their
  // sums never read.
  void load_chunk(int32_t chunk, int32_t key_count) {
    const int32_t block_size = task_.block_size;
    for (int32_t key = 0; key < key_count;) {
      const int32_t offset = (chunk + key) % block_size;
      const int32_t left = key_count - key;
      const int32_t run = left < block_size - offset ? left : block_size - offset;
      const uint16_t* keys = task_.cache + task_.block_ids[(chunk + key) / block_size] * task_.block_stride;
      const uint16_t* values = keys + int64_t{task_.head_dim} * block_size;
      for (int32_t d = 0; d < task_.head_dim; ++d) {
        to_floats(keys + int64_t{d} * block_size + offset, run, keys_ + int64_t{d} * kKeyChunk + key);
      }
      for (int32_t i = 0; i < run; ++i) {
        to_floats(values + int64_t{offset + i} * task_.head_dim, task_.head_dim,
                  values_ + int64_t{key + i} * padded_dim_);
      }
      key += run;
    }
  }

  const float* query_at(int32_t query) const {
    return task_.queries + query / task_.group * task_.query_stride + int64_t{query % task_.group} * task_.head_dim;
  }

  template <typename QueryTile>
  void score(QueryTile /*tile*/, int32_t first) {
    constexpr int kTile = QueryTile::kSize;
    const float* queries[kTile];
    typename V::Float sums[kTile][kKeyParts];
#pragma GCC unroll 8
    for (int q = 0; q < kTile; ++q) {
      queries[q] = query_at(first + q);
#pragma GCC unroll 8
      for (int part = 0; part < kKeyParts; ++part) sums[q][part] = V::set(0);
    }
    for (int32_t d = 0; d < task_.head_dim; ++d) {
#pragma GCC unroll 8
      for (int q = 0; q < kTile; ++q) {
        const auto x = V::set(queries[q][d]);
#pragma GCC unroll 8
        for (int part = 0; part < kKeyParts; ++part) {
          sums[q][part] = V::fma(x, V::load(keys_ + int64_t{d} * kKeyChunk + part * V::kLanes), sums[q][part]);
        }
      }
    }
#pragma GCC unroll 8
    for (int q = 0; q < kTile; ++q) {
#pragma GCC unroll 8
      for (int part = 0; part < kKeyParts; ++part) {
        V::store(scores_ + int64_t{first + q} * kKeyChunk + part * V::kLanes,
                 V::mul(sums[q][part], V::set(task_.scale)));
      }
    }
  }

  // Scores become weights relative to the highest score so far; what was summed under a lower one shrinks accordingly.
  void update_softmax(int32_t query, int32_t chunk) {
    float* scores = scores_ + int64_t{query} * kKeyChunk;
    const int32_t seen = task_.first_position + query / task_.group + 1 - chunk;
    for (int32_t key = seen; key < kKeyChunk; ++key) scores[key] = kLowest;
    auto top = V::set(tops_[query]);
    for (int part = 0; part < kKeyParts; ++part) top = V::max(top, V::load(scores + part * V::kLanes));
    const float new_top = V::max_of(top);
    for (int part = 0; part < kKeyParts; ++part) {
      const auto distance = V::sub(V::load(scores + part * V::kLanes), V::set(new_top));
      V::store(scores + part * V::kLanes, exponential<V>(distance));
    }
    for (int32_t key = seen; key < kKeyChunk; ++key) scores[key] = 0;
    auto total = V::set(0);
    for (int part = 0; part < kKeyParts; ++part) total = V::add(total, V::load(scores + part * V::kLanes));
    const auto shrink = exponential<V>(V::set(tops_[query] - new_top));
    totals_[query] = totals_[query] * V::max_of(shrink) + V::sum_of(total);
    tops_[query] = new_top;
    float* output = outputs_ + int64_t{query} * padded_dim_;
    for (int32_t d = 0; d < padded_dim_; d += V::kLanes) V::store(output + d, V::mul(V::load(output + d), shrink));
  }

  template <typename QueryTile>
  void add_values(QueryTile /*tile*/, int32_t first, int32_t key_count) {
    for_each_tile<4>(padded_dim_ / V::kLanes, [&](auto part_tile, int32_t part) {
      add_value_columns(QueryTile(), part_tile, first, part * V::kLanes, key_count);
    });
  }

  template <typename QueryTile, typename PartTile>
  void add_value_columns(QueryTile /*tile*/, PartTile /*parts*/, int32_t first, int32_t column, int32_t key_count) {
    constexpr int kTile = QueryTile::kSize;
    constexpr int kParts = PartTile::kSize;
    float* outputs = outputs_ + int64_t{first} * padded_dim_ + column;
    const float* weights = scores_ + int64_t{first} * kKeyChunk;
    typename V::Float sums[kTile][kParts];
#pragma GCC unroll 32
    for (int i = 0; i < kTile * kParts; ++i) {
      sums[i / kParts][i % kParts] = V::load(outputs + i / kParts * padded_dim_ + i % kParts * V::kLanes);
    }
    for (int32_t key = 0; key < key_count; ++key) {
      const float* values = values_ + int64_t{key} * padded_dim_ + column;
#pragma GCC unroll 32
      for (int i = 0; i < kTile * kParts; ++i) {
        sums[i / kParts][i % kParts] = V::fma(V::set(weights[i / kParts * kKeyChunk + key]),
                                              V::load(values + i % kParts * V::kLanes), sums[i / kParts][i % kParts]);
      }
    }
#pragma GCC unroll 32
    for (int i = 0; i < kTile * kParts; ++i) {
      V::store(outputs + i / kParts * padded_dim_ + i % kParts * V::kLanes, sums[i / kParts][i % kParts]);
    }
  }

  void finish(int32_t query) {
    const float* output = outputs_ + int64_t{query} * padded_dim_;
    float* out = task_.out + query / task_.group * task_.out_stride + int64_t{query % task_.group} * task_.head_dim;
    const float factor = 1.0F / totals_[query];
    for (int32_t d = 0; d < task_.head_dim; ++d) out[d] = output[d] * factor;
  }

  const AttendTask& task_;
  const int32_t padded_dim_;
  const int32_t query_count_;
  float* const keys_;     // [head_dim, 32]
  float* const values_;   // [32, padded_dim]
  float* const outputs_;  // [queries, padded_dim], not yet divided by totals_
  float* const scores_;   // [queries, 32]
  float* const tops_;     // [queries] highest score so far
  float* const totals_;   // [queries] sum of the weights so far
};

template <typename V, template <typename> typename Element>
void attend(const AttendTask& task) {
  Attention<V, Element<V>>(task).run();
}

/// The table of an instruction set: what is generic over V, and its own products with quantised weights.
template <typename V>
constexpr Kernels make_kernels(Activations activations, Dot q4_0, Dot q4_1, Dot q8_0) {
  return {.quantized_weights_take = activations,
          .dot_q4_0 = q4_0,
          .dot_q4_1 = q4_1,
          .dot_q8_0 = q8_0,
          .dot_f32 = dot_float<V, F32<V>>,
          .dot_f16 = dot_float<V, F16<V>>,
          .dot_bf16 = dot_float<V, Bf16<V>>,
          .quantize = quantize<V>,
          .rms_norm = rms_norm<V>,
          .silu_multiply = silu_multiply<V>,
          .store_f16 = store_f16<V>,
          .store_bf16 = store_bf16<V>,
          .attend_f16 = attend<V, F16>,
          .attend_bf16 = attend<V, Bf16>};
}

}  // namespace sluice::engine::cpu
