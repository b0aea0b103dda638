#pragma once

#include <cstdint>

#include "engine/cpu/elementwise_kernels.h"
#include "engine/cpu/kernels.h"

namespace sluice::engine::cpu {

/// What the queries of an AttendTask have gathered from the spans of their context so far, over the vector wrapper V
/// (simd_emulated.h).
///
/// A partial result is [queries][padded_dim] sums of weights times values, [queries] highest scores, [queries] sums of
/// weights; weights are relative to the span's highest score.
template <typename V>
class AttentionState {
 public:
  // Below every score, yet far enough from infinity that differences stay numbers.
  static constexpr float kLowest = -1e30F;

  /// `memory` is of attend_partial_floats(); nothing is gathered yet.
  AttentionState(const AttendTask& task, float* memory)
      : task_(task),
        padded_dim_(padded_head_dim(task.head_dim)),
        query_count_(task.token_count * task.group),
        state_(memory) {}

  template <typename Float>
  Float* sums_of(Float* partial, int32_t query) const {
    return partial + int64_t{query} * padded_dim_;
  }
  template <typename Float>
  Float* top_of(Float* partial, int32_t query) const {
    return partial + int64_t{query_count_} * padded_dim_ + query;
  }
  template <typename Float>
  Float* total_of(Float* partial, int32_t query) const {
    return top_of(partial, query) + query_count_;
  }

  const float* query_at(int32_t query) const {
    return task_.queries + query / task_.group * task_.query_stride + int64_t{query % task_.group} * task_.head_dim;
  }

  int32_t position_of(int32_t query) const { return task_.first_position + query / task_.group; }
  /// How many of the span's keys are none after the query's own; none or less for a query before the span.
  int32_t seen(int32_t query, int32_t span) const { return position_of(query) + 1 - span * kKeySpan; }
  /// How many of the span's first keys lie before the query's window; at most kKeySpan.
  int32_t hidden(int32_t query, int32_t span) const {
    const int32_t position = position_of(query);
    if (position < task_.window) return 0;
    const int32_t count = position - task_.window + 1 - span * kKeySpan;
    return count < 0 ? 0 : count < kKeySpan ? count : kKeySpan;
  }
  bool sees(int32_t query, int32_t span) const { return seen(query, span) > 0 && hidden(query, span) < kKeySpan; }
  /// How many keys of the span there are.
  int32_t key_count(int32_t span) const {
    const int32_t left = task_.first_position + task_.token_count - span * kKeySpan;
    return left < kKeySpan ? left : kKeySpan;
  }
  /// The first query that sees anything of the span.
  int32_t first_query(int32_t span) const {
    const int32_t before = span * kKeySpan - task_.first_position;
    return before > 0 ? before * task_.group : 0;
  }

  /// Adds span `span`'s partial result to what those before it gave.
  void merge(int32_t span, const float* partial) {
    for (int32_t query = 0; query < query_count_; ++query) {
      if (!sees(query, span)) continue;
      merge_query(span == first_span_of(position_of(query), task_.window), query, partial);
    }
  }

  void finish() {
    for (int32_t query = 0; query < query_count_; ++query) {
      const float* sums = sums_of(state_, query);
      float* out = task_.out + query / task_.group * task_.out_stride + int64_t{query % task_.group} * task_.head_dim;
      const float factor = 1.0F / *total_of(state_, query);
      const int32_t whole = task_.head_dim - task_.head_dim % V::kLanes;
      for (int32_t d = 0; d < whole; d += V::kLanes) V::store(out + d, V::mul(V::load(sums + d), V::set(factor)));
      for (int32_t d = whole; d < task_.head_dim; ++d) out[d] = sums[d] * factor;
    }
  }

 private:
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
  float* const state_;  // a partial result: of all spans so far
};

}  // namespace sluice::engine::cpu
