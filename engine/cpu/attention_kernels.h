#pragma once

#include <cstdint>

#include "engine/cpu/attention_state.h"
#include "engine/cpu/elementwise_kernels.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/key_spans.h"
#include "engine/cpu/stored_element.h"
#include "engine/cpu/tile.h"

// Attention over the paged cache, written once over the vector wrapper V (simd_emulated.h).
//
// A context is taken in spans of kKeySpan positions, counted from its beginning. Each span gives a partial result
// of its own, and partial results are merged in order (Milakov & Gimelshein 2018, "Online normalizer calculation for
// softmax"). So what a query gets depends on its own context alone: not on who shares its tile, nor on whether the
// spans were computed by one thread or by several.

namespace sluice::engine::cpu {

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
        state_(task, scores_ + int64_t{query_count_} * kKeySpan),
        partial_(scores_ + int64_t{query_count_} * kKeySpan + attend_partial_floats(query_count_, task.head_dim)) {}

  /// The whole of it.
  void run() {
    for (int32_t span = attend_first_span(task_); span < attend_end_span(task_); ++span) {
      compute(span, partial_);
      state_.merge(span, partial_);
    }
    state_.finish();
  }

  /// One span's partial result.
  void compute(int32_t span, float* partial) {
    const int32_t key_count = state_.key_count(span);
    const int32_t first_query = state_.first_query(span);
    // Values are read up to the padded size: in place only where that is theirs, or the cache's last row would be left.
    const bool is_direct =
        query_count_ <= V::kQueries && task_.block_size % kKeyLanes == 0 && task_.head_dim == padded_dim_;
    if (is_direct) {
      compute_from(PagedSpan<V, Element>(task_, span), span, key_count, first_query, partial);
    } else {
      floats_.fill(span, key_count);
      compute_from(floats_, span, key_count, first_query, partial);
    }
  }

 private:
  float* scores_of(int32_t query) const { return scores_ + int64_t{query} * kKeySpan; }

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
    for (int q = 0; q < kQueries; ++q) queries[q] = state_.query_at(query + q);
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

  // Scores become weights relative to the span's highest.
  void weigh(int32_t query, int32_t span, int32_t key_count, float* partial) {
    float* scores = scores_of(query);
    const int32_t end = (key_count + V::kLanes - 1) / V::kLanes * V::kLanes;
    const int32_t seen_count = state_.seen(query, span);
    const int32_t hidden_count = state_.hidden(query, span) < end ? state_.hidden(query, span) : end;
    for (int32_t key = 0; key < hidden_count; ++key) scores[key] = AttentionState<V>::kLowest;
    for (int32_t key = seen_count; key < end; ++key) scores[key] = AttentionState<V>::kLowest;
    auto top = V::set(AttentionState<V>::kLowest);
    for (int32_t key = 0; key < end; key += V::kLanes) top = V::max(top, V::load(scores + key));
    const float highest = V::max_of(top);
    for (int32_t key = 0; key < end; key += V::kLanes) {
      V::store(scores + key, exponential<V>(V::sub(V::load(scores + key), V::set(highest))));
    }
    for (int32_t key = 0; key < hidden_count; ++key) scores[key] = 0;
    for (int32_t key = seen_count; key < end; ++key) scores[key] = 0;
    auto total = V::set(0);
    for (int32_t key = 0; key < end; key += V::kLanes) total = V::add(total, V::load(scores + key));
    *state_.top_of(partial, query) = highest;
    *state_.total_of(partial, query) = V::sum_of(total);
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
        V::store(state_.sums_of(partial, query + q) + (first_part + part) * V::kLanes, sums.sums[q][part]);
      }
    }
  }

  const AttendTask& task_;
  const int32_t padded_dim_;
  const int32_t query_count_;
  FloatSpan<V, Element> floats_;
  float* const scores_;  // [queries][kKeySpan]; then weights
  AttentionState<V> state_;
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
  AttentionState<V> state(task, task.scratch);
  const int64_t partial_floats = attend_partial_floats(task.token_count * task.group, task.head_dim);
  for (int32_t span = attend_first_span(task); span < attend_end_span(task); ++span, partials += partial_floats) {
    state.merge(span, partials);
  }
  state.finish();
}

}  // namespace sluice::engine::cpu
