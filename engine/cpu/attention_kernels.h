#pragma once

#include <cstdint>

#include "engine/cpu/elementwise_kernels.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/stored_element.h"
#include "engine/cpu/tile.h"

// Attention over the paged cache, written once over the vector wrapper V (simd_emulated.h).
//
// A context is taken in spans of kKeySpan positions, counted from its beginning. Each span gives a partial result
// of its own, and partial results are merged in order (Milakov & Gimelshein 2018, "Online normalizer calculation for
// softmax"). So what a query gets depends on its own context alone: not on who shares its tile, nor on whether the
// spans were computed by one thread or by several.

namespace sluice::engine::cpu {

/// One head of one block of the cache; see KvStore for what lies where.
template <typename Element>
class HeadBlock {
 public:
  using Stored = typename Element::Stored;

  HeadBlock(const AttendTask& task, int32_t position)
      : task_(task), data_(task.cache + task.block_ids[position / task.block_size] * task.block_bytes) {}

  const Stored* keys() const { return reinterpret_cast<const Stored*>(data_); }
  const Stored* values() const { return keys() + elements(); }
  const float* key_scales() const { return reinterpret_cast<const float*>(values() + elements()); }
  const float* value_scales() const { return key_scales() + task_.block_size; }

 private:
  int64_t elements() const { return int64_t{task_.head_dim} * task_.block_size; }

  const AttendTask& task_;
  const std::byte* data_;
};

/// Where a span's keys and values come from: the cache's own blocks, whose size is a multiple of kKeyLanes.
template <typename V, typename Element>
class PagedSpan {
 public:
  using Stored = typename Element::Stored;
  static constexpr bool kHasScales = Element::kHasScales;

  PagedSpan(const AttendTask& task, int32_t span) : task_(task), first_position_(span * kKeySpan) {}

  /// Lanes of keys from `key`, a multiple of kLanes, on: element d is at d * kKeyLanes.
  const Stored* keys(int32_t key) const {
    const int64_t group_elements = int64_t{task_.head_dim} * kKeyLanes;
    return block(key).keys() + offset(key) / kKeyLanes * group_elements + offset(key) % kKeyLanes;
  }
  const Stored* values(int32_t key) const { return block(key).values() + int64_t{offset(key)} * task_.head_dim; }
  int64_t value_stride() const { return task_.head_dim; }
  const float* key_scales(int32_t key) const { return block(key).key_scales() + offset(key); }
  const float* value_scales(int32_t key) const { return block(key).value_scales() + offset(key); }
  static typename V::Float load(const Stored* from) { return Element::load(from); }

  /// Fetches the values that lie where `keys` does among the keys: with each key's element its share of the block's
  /// values.
  void prefetch_values(const Stored* keys) const {
    __builtin_prefetch(keys + int64_t{task_.head_dim} * task_.block_size);
  }
  /// `key`'s share of the keys of the block that is wanted a span later; nullptr past the end of the context.
  const std::byte* later_keys(int32_t key) const {
    const int32_t later = key + kKeySpan;
    if (first_position_ + later >= task_.first_position + task_.token_count) return nullptr;
    return reinterpret_cast<const std::byte*>(block(later).keys() + int64_t{offset(later)} * task_.head_dim);
  }

 private:
  HeadBlock<Element> block(int32_t key) const { return HeadBlock<Element>(task_, first_position_ + key); }
  int32_t offset(int32_t key) const { return (first_position_ + key) % task_.block_size; }

  const AttendTask& task_;
  const int32_t first_position_;
};

/// The same as floats, for many queries to share; and for shapes that don't fill whole registers.
template <typename V, typename Element>
class FloatSpan {
 public:
  using Stored = float;
  static constexpr bool kHasScales = Element::kHasScales;

  FloatSpan(const AttendTask& task, int32_t padded_dim, float* memory)
      : task_(task),
        padded_dim_(padded_dim),
        keys_(memory),
        values_(keys_ + int64_t{kKeySpan} * task.head_dim),
        key_scales_(values_ + int64_t{kKeySpan} * padded_dim),
        value_scales_(key_scales_ + kKeySpan) {}

  const float* keys(int32_t key) const {
    return keys_ + int64_t{key / kKeyLanes} * task_.head_dim * kKeyLanes + key % kKeyLanes;
  }
  const float* values(int32_t key) const { return values_ + int64_t{key} * padded_dim_; }
  int64_t value_stride() const { return padded_dim_; }
  const float* key_scales(int32_t key) const { return key_scales_ + key; }
  const float* value_scales(int32_t key) const { return value_scales_ + key; }
  static typename V::Float load(const float* from) { return V::load(from); }

  // All of it is near already.
  void prefetch_values(const float* /*keys*/) const {}
  const std::byte* later_keys(int32_t /*key*/) const { return nullptr; }

  /// Takes over the first `key_count` keys of a span. Places past them and columns past head_dim keep whatever they
  /// hold: their scores are overwritten and their sums never read.
  void fill(int32_t span, int32_t key_count) {
    for (int32_t key = 0; key < key_count;) {
      const int32_t position = span * kKeySpan + key;
      const int32_t offset = position % task_.block_size;
      const int32_t left = key_count - key;
      const int32_t run = left < task_.block_size - offset ? left : task_.block_size - offset;
      const HeadBlock<Element> block(task_, position);
      fill_keys(block.keys(), offset, key, run);
      for (int32_t i = 0; i < run; ++i) {
        to_floats(block.values() + int64_t{offset + i} * task_.head_dim, task_.head_dim,
                  values_ + int64_t{key + i} * padded_dim_);
        if constexpr (kHasScales) {
          key_scales_[key + i] = block.key_scales()[offset + i];
          value_scales_[key + i] = block.value_scales()[offset + i];
        }
      }
      key += run;
    }
  }

 private:
  void fill_keys(const typename Element::Stored* keys, int32_t offset, int32_t key, int32_t run) {
    if (task_.block_size % kKeyLanes == 0) {
      const int64_t group_elements = int64_t{task_.head_dim} * kKeyLanes;
      const int64_t groups = (run + kKeyLanes - 1) / kKeyLanes;
      to_floats(keys + offset / kKeyLanes * group_elements, groups * group_elements,
                keys_ + key / kKeyLanes * group_elements);
      return;
    }
    for (int32_t d = 0; d < task_.head_dim; ++d) {
      for (int32_t i = 0; i < run; ++i) {
        float* to = keys_ + (int64_t{(key + i) / kKeyLanes} * task_.head_dim + d) * kKeyLanes + (key + i) % kKeyLanes;
        to_floats(keys + int64_t{d} * task_.block_size + offset + i, 1, to);
      }
    }
  }

  static void to_floats(const typename Element::Stored* from, int64_t count, float* to) {
    const int64_t whole = count - count % V::kLanes;
    for (int64_t i = 0; i < whole; i += V::kLanes) V::store(to + i, Element::load(from + i));
    if (whole == count) return;
    typename Element::Stored tail[V::kLanes] = {};
    float floats[V::kLanes];
    for (int64_t i = whole; i < count; ++i) tail[i - whole] = from[i];
    V::store(floats, Element::load(tail));
    for (int64_t i = whole; i < count; ++i) to[i] = floats[i - whole];
  }

  const AttendTask& task_;
  const int32_t padded_dim_;
  float* const keys_;    // [kKeySpan / kKeyLanes][head_dim][kKeyLanes]
  float* const values_;  // [kKeySpan][padded_dim]
  float* const key_scales_;
  float* const value_scales_;
};

/// kQueries x kParts registers that sum products of query elements with vectors.
template <typename V, int kQueries, int kParts>
struct AttentionSums {
  typename V::Float sums[kQueries][kParts];

  void clear() {
#pragma GCC unroll 32
    for (int i = 0; i < kQueries * kParts; ++i) sums[i / kParts][i % kParts] = V::set(0);
  }
  /// sums[q][part] += factors[q][k] * vector(part)
  template <typename Vector>
  [[gnu::always_inline]] void add(const float* const (&factors)[kQueries], int32_t k, const Vector& vector) {
    typename V::Float factor[kQueries];
#pragma GCC unroll 8
    for (int q = 0; q < kQueries; ++q) factor[q] = V::set(factors[q][k]);
#pragma GCC unroll 8
    for (int part = 0; part < kParts; ++part) {
      const auto x = vector(part);
#pragma GCC unroll 8
      for (int q = 0; q < kQueries; ++q) sums[q][part] = V::fma(factor[q], x, sums[q][part]);
    }
  }
};

/// One AttendTask.
template <typename V, template <typename> typename ElementOf>
class Attention {
 public:
  using Element = ElementOf<V>;

  explicit Attention(const AttendTask& task)
      : task_(task),
        padded_dim_(padded_head_dim(task.head_dim)),
        query_count_(task.token_count * task.group),
        floats_(task, padded_dim_, task.scratch),
        scores_(task.scratch + int64_t{kKeySpan} * (task.head_dim + padded_dim_ + 2)),
        state_(scores_ + int64_t{query_count_} * kKeySpan),
        partial_(state_ + attend_partial_floats(query_count_, task.head_dim)) {}

  /// The whole of it.
  void run() {
    for (int32_t span = 0; span < span_count(); ++span) {
      compute(span, partial_);
      merge(span, partial_);
    }
    finish();
  }

  /// One span's partial result.
  void compute(int32_t span, float* partial) {
    const int32_t left = task_.first_position + task_.token_count - span * kKeySpan;
    const int32_t key_count = left < kKeySpan ? left : kKeySpan;
    // Tokens before the span see nothing of it.
    const int32_t before = span * kKeySpan - task_.first_position;
    const int32_t first_query = before > 0 ? before * task_.group : 0;
    const bool is_direct =
        query_count_ <= V::kQueries && task_.block_size % kKeyLanes == 0 && task_.head_dim % V::kLanes == 0;
    if (is_direct) {
      compute_from(PagedSpan<V, Element>(task_, span), span, key_count, first_query, partial);
    } else {
      floats_.fill(span, key_count);
      compute_from(floats_, span, key_count, first_query, partial);
    }
  }

  /// Adds span `span`'s partial result to what those before it gave.
  void merge(int32_t span, const float* partial) {
    for (int32_t query = 0; query < query_count_; ++query) {
      if (seen(query, span) > 0) merge_query(span == 0, query, partial);
    }
  }

  void finish() {
    for (int32_t query = 0; query < query_count_; ++query) {
      const float* sums = sums_of(state_, query);
      float* out = task_.out + query / task_.group * task_.out_stride + int64_t{query % task_.group} * task_.head_dim;
      const float factor = 1.0F / *total_of(state_, query);
      for (int32_t d = 0; d < task_.head_dim; ++d) out[d] = sums[d] * factor;
    }
  }

  int32_t span_count() const { return attend_span_count(task_); }

 private:
  // Below every score, yet far enough from infinity that differences stay numbers.
  static constexpr float kLowest = -1e30F;

  // A partial result: [queries][padded_dim] sums of weights times values, [queries] highest scores, [queries] sums of
  // weights.
  float* sums_of(float* partial, int32_t query) const { return partial + int64_t{query} * padded_dim_; }
  const float* sums_of(const float* partial, int32_t query) const { return partial + int64_t{query} * padded_dim_; }
  template <typename Float>
  Float* top_of(Float* partial, int32_t query) const {
    return partial + int64_t{query_count_} * padded_dim_ + query;
  }
  template <typename Float>
  Float* total_of(Float* partial, int32_t query) const {
    return top_of(partial, query) + query_count_;
  }

  float* scores_of(int32_t query) const { return scores_ + int64_t{query} * kKeySpan; }

  /// How many of the span's keys a query sees; none or less for a query before the span.
  int32_t seen(int32_t query, int32_t span) const {
    return task_.first_position + query / task_.group + 1 - span * kKeySpan;
  }

  template <typename Span>
  void compute_from(const Span& span, int32_t index, int32_t key_count, int32_t first_query, float* partial) {
    for_each_tile<V::kQueries>(query_count_ - first_query, [&](auto tile, int32_t begin) {
      const int32_t query = first_query + begin;
      score(tile, span, query, key_count);
      for (int32_t i = 0; i < decltype(tile)::kSize; ++i) {
        weigh(query + i, index, key_count, partial);
        if constexpr (Span::kHasScales) scale_weights(span, query + i, key_count);
      }
      add_values(tile, span, query, key_count, partial);
    });
  }

  template <typename QueryTile, typename Span>
  void score(QueryTile tile, const Span& span, int32_t query, int32_t key_count) {
    const int32_t parts = (key_count + V::kLanes - 1) / V::kLanes;
    int32_t part = 0;
    for (; part + V::kParts <= parts; part += V::kParts) score_keys(tile, Tile<V::kParts>(), span, query, part);
    for (; part < parts; ++part) score_keys(tile, Tile<1>(), span, query, part);
  }

  template <typename QueryTile, typename PartTile, typename Span>
  void score_keys(QueryTile /*tile*/, PartTile /*parts*/, const Span& span, int32_t query, int32_t first_part) {
    constexpr int kQueries = QueryTile::kSize;
    constexpr int kParts = PartTile::kSize;
    const float* queries[kQueries];
#pragma GCC unroll 8
    for (int q = 0; q < kQueries; ++q) queries[q] = query_at(query + q);
    const typename Span::Stored* keys[kParts];
#pragma GCC unroll 8
    for (int part = 0; part < kParts; ++part) keys[part] = span.keys((first_part + part) * V::kLanes);
    AttentionSums<V, kQueries, kParts> sums;
    sums.clear();
    for (int32_t d = 0; d < task_.head_dim; ++d) {
      sums.add(queries, d, [&](int part) {
        const auto* at = keys[part] + int64_t{d} * kKeyLanes;
        span.prefetch_values(at);
        return Span::load(at);
      });
    }
#pragma GCC unroll 8
    for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 8
      for (int part = 0; part < kParts; ++part) {
        const int32_t key = (first_part + part) * V::kLanes;
        auto score = V::mul(sums.sums[q][part], V::set(task_.scale));
        if constexpr (Span::kHasScales) score = V::mul(score, V::load(span.key_scales(key)));
        V::store(scores_of(query + q) + key, score);
      }
    }
  }

  const float* query_at(int32_t query) const {
    return task_.queries + query / task_.group * task_.query_stride + int64_t{query % task_.group} * task_.head_dim;
  }

  // Scores become weights relative to the span's highest.
  void weigh(int32_t query, int32_t span, int32_t key_count, float* partial) {
    float* scores = scores_of(query);
    const int32_t end = (key_count + V::kLanes - 1) / V::kLanes * V::kLanes;
    const int32_t seen_count = seen(query, span);
    for (int32_t key = seen_count; key < end; ++key) scores[key] = kLowest;
    auto top = V::set(kLowest);
    for (int32_t key = 0; key < end; key += V::kLanes) top = V::max(top, V::load(scores + key));
    const float highest = V::max_of(top);
    for (int32_t key = 0; key < end; key += V::kLanes) {
      V::store(scores + key, exponential<V>(V::sub(V::load(scores + key), V::set(highest))));
    }
    for (int32_t key = seen_count; key < end; ++key) scores[key] = 0;
    auto total = V::set(0);
    for (int32_t key = 0; key < end; key += V::kLanes) total = V::add(total, V::load(scores + key));
    *top_of(partial, query) = highest;
    *total_of(partial, query) = V::sum_of(total);
  }

  template <typename Span>
  void scale_weights(const Span& span, int32_t query, int32_t key_count) {
    float* weights = scores_of(query);
    for (int32_t key = 0; key < key_count; key += V::kLanes) {
      V::store(weights + key, V::mul(V::load(weights + key), V::load(span.value_scales(key))));
    }
  }

  template <typename QueryTile, typename Span>
  void add_values(QueryTile tile, const Span& span, int32_t query, int32_t key_count, float* partial) {
    const int32_t parts = padded_dim_ / V::kLanes;
    int32_t part = 0;
    for (; part + V::kParts <= parts; part += V::kParts) {
      add_value_columns(tile, Tile<V::kParts>(), span, query, part, key_count, partial);
    }
    for (; part < parts; ++part) add_value_columns(tile, Tile<1>(), span, query, part, key_count, partial);
  }

  template <typename QueryTile, typename PartTile, typename Span>
  void add_value_columns(QueryTile /*tile*/, PartTile /*parts*/, const Span& span, int32_t query, int32_t first_part,
                         int32_t key_count, float* partial) {
    constexpr int kQueries = QueryTile::kSize;
    constexpr int kParts = PartTile::kSize;
    const float* weights[kQueries];
#pragma GCC unroll 8
    for (int q = 0; q < kQueries; ++q) weights[q] = scores_of(query + q);
    AttentionSums<V, kQueries, kParts> sums;
    sums.clear();
    for (int32_t run = 0; run < key_count; run += kKeyLanes) {
      const auto* values = span.values(run) + first_part * V::kLanes;
      const int32_t end = key_count - run < kKeyLanes ? key_count : run + kKeyLanes;
      const std::byte* later = span.later_keys(run);
      const int64_t share = later == nullptr ? 0 : span.value_stride() * int64_t{sizeof(typename Span::Stored)};
      for (int32_t key = run; key < end; ++key, values += span.value_stride(), later += share) {
        for (int64_t line = 0; line < share; line += 64) __builtin_prefetch(later + line);
        sums.add(weights, key, [&](int part) { return Span::load(values + part * V::kLanes); });
      }
    }
#pragma GCC unroll 8
    for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 8
      for (int part = 0; part < kParts; ++part) {
        V::store(sums_of(partial, query + q) + (first_part + part) * V::kLanes, sums.sums[q][part]);
      }
    }
  }

  // What was summed under the lower of the two highest scores shrinks accordingly.
  void merge_query(bool is_first, int32_t query, const float* partial) {
    float* sums = sums_of(state_, query);
    const float* added = sums_of(partial, query);
    float& top = *top_of(state_, query);
    float& total = *total_of(state_, query);
    if (is_first) {
      for (int32_t d = 0; d < padded_dim_; d += V::kLanes) V::store(sums + d, V::load(added + d));
      top = *top_of(partial, query);
      total = *total_of(partial, query);
      return;
    }
    const float added_top = *top_of(partial, query);
    const float new_top = added_top > top ? added_top : top;
    const auto keep = exponential<V>(V::set(top - new_top));
    const auto take = exponential<V>(V::set(added_top - new_top));
    for (int32_t d = 0; d < padded_dim_; d += V::kLanes) {
      V::store(sums + d, V::fma(V::load(added + d), take, V::mul(V::load(sums + d), keep)));
    }
    total = total * V::max_of(keep) + *total_of(partial, query) * V::max_of(take);
    top = new_top;
  }

  const AttendTask& task_;
  const int32_t padded_dim_;
  const int32_t query_count_;
  FloatSpan<V, Element> floats_;
  float* const scores_;   // [queries][kKeySpan]; then weights
  float* const state_;    // a partial result: of all spans so far
  float* const partial_;  // a partial result: of one span
};

template <typename V, template <typename> typename Element>
void attend(const AttendTask& task) {
  Attention<V, Element>(task).run();
}

template <typename V, template <typename> typename Element>
void attend_span(const AttendTask& task, int32_t span, float* partial) {
  Attention<V, Element>(task).compute(span, partial);
}

template <typename V>
void merge_spans(const AttendTask& task, const float* partials) {
  Attention<V, F32> attention(task);
  const int64_t partial_floats = attend_partial_floats(task.token_count * task.group, task.head_dim);
  for (int32_t span = 0; span < attention.span_count(); ++span) {
    attention.merge(span, partials + span * partial_floats);
  }
  attention.finish();
}

}  // namespace sluice::engine::cpu
