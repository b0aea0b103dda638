#pragma once

#include <cstdint>

#include "engine/cpu/attention_state.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/key_spans.h"
#include "engine/cpu/prompt_attention_layout.h"
#include "engine/cpu/stored_element.h"

// Attention of a prompt's tokens in bfloat16, for machines with matrix tiles T (simd_amx.h), over vectors V of 16
// lanes. Scores and sums of values are products of tiles with the queries and with their weights; spans, softmax and
// merging are those of attention_kernels.h. For heads of a multiple of 32 elements.

namespace sluice::engine::cpu {

template <typename V, typename T, template <typename> typename ElementOf>
class PromptAttention {
 public:
  explicit PromptAttention(const AttendTask& task)
      : task_(task),
        layout_(task.token_count * task.group, task.head_dim),
        query_count_(task.token_count * task.group),
        floats_(task, padded_head_dim(task.head_dim), task.scratch),
        state_(task, task.scratch + layout_.state_begin),
        partial_(task.scratch + layout_.partial_begin) {
    static_assert(V::kLanes == 16 && T::kColumns == 16);
  }

  void run() {
    take_queries();
    for (int32_t span = attend_first_span(task_); span < attend_end_span(task_); ++span) {
      take_span(span);
      const int32_t first = state_.first_query(span) / kQueries * kQueries;
      for (int32_t query = first; query < query_count_; query += kQueries) attend(query, span);
      state_.merge(span, partial_);
    }
    state_.finish();
  }

 private:
  static constexpr int32_t kTile = 16;
  static constexpr int32_t kQueries = 2 * kTile;  // which are treated at a time
  static constexpr int32_t kBlockHalves = 512;    // of a tile: 16 x 32
  static constexpr int32_t kSpanBlocks = kKeySpan / kQuantBlock;
  static constexpr float kLowest = AttentionState<V>::kLowest;

  uint16_t* halves(int64_t begin) const { return reinterpret_cast<uint16_t*>(task_.scratch + begin); }

  void take_queries() {
    uint16_t* to = halves(layout_.queries_begin);
    for (int32_t query = 0; query < query_count_; ++query) {
      const float* from = state_.query_at(query);
      for (int64_t block = 0; block < layout_.head_blocks; ++block, from += kQuantBlock) {
        uint16_t* row = to + (query / kTile * layout_.head_blocks + block) * kBlockHalves + query % kTile * kQuantBlock;
        V::store_bf16(row, V::load(from));
        V::store_bf16(row + kTile, V::load(from + kTile));
      }
    }
  }

  void take_span(int32_t span) {
    const int32_t key_count = state_.key_count(span);
    if (task_.block_size % kKeyLanes == 0) return take_from(PagedSpan<V, ElementOf<V>>(task_, span), key_count);
    floats_.fill(span, key_count);
    take_from(floats_, key_count);
  }

  template <typename Span>
  void take_from(const Span& span, int32_t key_count) {
    for (int32_t key = 0; key < key_count; key += kTile) {
      take_keys(span, key);
      take_values(span, key, key_count - key < kTile ? key_count - key : kTile);
    }
    // Values come in blocks of 32: their weights are zero past the end, and what lies there need not be numbers.
    const int32_t end = (key_count + kTile - 1) / kTile * kTile;
    if (end % kQuantBlock != 0) take_values(span, end, 0);
  }

  // Of 16 keys; those past the end are whatever lies there: their scores are never used.
  template <typename Span>
  void take_keys(const Span& span, int32_t key) {
    const auto* keys = span.keys(key);
    uint16_t* to = halves(layout_.keys_begin) + int64_t{key} * task_.head_dim;
    for (int32_t pair = 0; pair < task_.head_dim / 2; ++pair, to += 2 * kTile, keys += 2 * kKeyLanes) {
      V::store_bf16_pairs(to, Span::load(keys), Span::load(keys + kKeyLanes));
    }
    if constexpr (Span::kHasScales) {
      V::store(key_scales() + key, V::load(span.key_scales(key)));
      V::store(value_scales() + key, V::load(span.value_scales(key)));
    }
  }

  // The first `count` of 16 values; those past them are zero.
  template <typename Span>
  void take_values(const Span& span, int32_t key, int32_t count) {
    const auto* values = span.values(count > 0 ? key : 0);
    uint16_t* to = halves(layout_.values_begin) + key / kQuantBlock * kBlockHalves + key % kQuantBlock * kTile;
    for (int32_t i = 0; i < kTile; i += 2, values += 2 * span.value_stride(), to += 2 * kTile) {
      for (int32_t d = 0; d < task_.head_dim; d += kTile) {
        const auto first = i < count ? Span::load(values + d) : V::set(0);
        const auto second = i + 1 < count ? Span::load(values + span.value_stride() + d) : V::set(0);
        V::store_bf16_pairs(to + int64_t{d} * kKeySpan, first, second);
      }
    }
  }

  /// Up to kQueries queries from `query` on: one span's partial result.
  void attend(int32_t query, int32_t span) {
    const int32_t end = query_count_ - query < kQueries ? query_count_ : query + kQueries;
    const int32_t tiles = (end - query + kTile - 1) / kTile;
    const int32_t seen = state_.seen(end - 1, span);  // by the last, which sees most
    const int32_t key_count = seen < kKeySpan ? seen : kKeySpan;
    const int32_t blocks = (key_count + kQuantBlock - 1) / kQuantBlock;
    score(query, tiles, blocks);
    for (int32_t i = 0; i < end - query; ++i) {
      if (state_.sees(query + i, span)) weigh(query, i, span, blocks);
    }
    add_values(query, end - query, tiles, blocks);
  }

  float* key_scales() const { return task_.scratch + layout_.scales_begin; }
  float* value_scales() const { return key_scales() + kKeySpan; }
  float* scores_of(int32_t i, int32_t group) const {
    return task_.scratch + layout_.scores_begin + (group * kQueries + i) * kTile;
  }

  void score(int32_t query, int32_t tiles, int32_t blocks) const {
    const int64_t head_halves = layout_.head_blocks * kBlockHalves;
    const uint16_t* keys = halves(layout_.keys_begin);
    for (int32_t group = 0; group < 2 * blocks; group += 2, keys += 2 * head_halves) {
      T::multiply_pair({.columns = halves(layout_.queries_begin) + query / kTile * head_halves,
                        .tile_stride = head_halves,
                        .tiles = tiles,
                        .blocks = static_cast<int32_t>(layout_.head_blocks),
                        .first = keys,
                        .second = keys + head_halves,
                        .first_out = scores_of(0, group),
                        .second_out = scores_of(0, group + 1)});
    }
  }

  /// Which keys of a span a query sees: at least one.
  struct Seen {
    int32_t begin;
    int32_t end;

    int32_t first_group() const { return begin / kTile; }
    int32_t end_group() const { return (end + kTile - 1) / kTile; }
    bool has_whole(int32_t group) const { return begin <= group * kTile && group * kTile + kTile <= end; }
  };

  Seen seen_keys(int32_t query, int32_t span) const {
    const int32_t seen = state_.seen(query, span);
    return {state_.hidden(query, span), seen < kKeySpan ? seen : kKeySpan};
  }

  // Scores become weights relative to the span's highest; keys that the query doesn't see get none.
  void weigh(int32_t query, int32_t i, int32_t span, int32_t blocks) {
    const Seen seen = seen_keys(query + i, span);
    const float highest = highest_score(i, seen);
    auto total = V::set(0);
    for (int32_t group = 0; group < seen.first_group(); ++group) store_weight(i, group, V::set(0));
    for (int32_t group = seen.first_group(); group < seen.end_group(); ++group) {
      auto weight = weight_of(scores_of(i, group), highest);
      if (!seen.has_whole(group)) {
        weight = V::zero_unless_at_least(weight, V::load(scores_of(i, group)), V::set(0.5F * kLowest));
      }
      total = V::add(total, weight);
      store_weight(i, group, weight);
    }
    for (int32_t group = seen.end_group(); group < 2 * blocks; ++group) store_weight(i, group, V::set(0));
    *state_.top_of(partial_, query + i) = highest;
    *state_.total_of(partial_, query + i) = V::sum_of(total);
  }

  // Scaled. Those that aren't seen become the lowest.
  float highest_score(int32_t i, const Seen& seen) const {
    auto top = V::set(kLowest);
    for (int32_t group = seen.first_group(); group < seen.end_group(); ++group) {
      auto score = own_score(i, group);
      if (!seen.has_whole(group)) {
        score = V::min(score, limits(seen, group * kTile));
        V::store(scores_of(i, group), score);
      }
      top = V::max(top, score);
    }
    return V::max_of(top) * task_.scale;
  }

  // With its key's scale, where keys have one.
  typename V::Float own_score(int32_t i, int32_t group) const {
    auto score = V::load(scores_of(i, group));
    if constexpr (ElementOf<V>::kHasScales) {
      score = V::mul(score, V::load(key_scales() + group * kTile));
      V::store(scores_of(i, group), score);
    }
    return score;
  }

  typename V::Float weight_of(const float* scores, float highest) const {
    return exponential<V>(V::fma(V::load(scores), V::set(task_.scale), V::set(-highest)));
  }

  void store_weight(int32_t i, int32_t group, typename V::Float weight) const {
    if constexpr (ElementOf<V>::kHasScales) weight = V::mul(weight, V::load(value_scales() + group * kTile));
    const int64_t block = int64_t{i / kTile} * kSpanBlocks + group / 2;
    V::store_bf16(halves(layout_.weights_begin) + block * kBlockHalves + i % kTile * kQuantBlock + group % 2 * kTile,
                  weight);
  }

  // All are computed before any is read: a tile that was just stored can't be loaded before it has reached the cache.
  void add_values(int32_t query, int32_t count, int32_t tiles, int32_t blocks) {
    float* sums = task_.scratch + layout_.sums_begin;
    const uint16_t* values = halves(layout_.values_begin);
    for (int32_t d = 0; d < task_.head_dim; d += 2 * kTile, values += 2 * kSpanBlocks * kBlockHalves) {
      T::multiply_pair({.columns = halves(layout_.weights_begin),
                        .tile_stride = kSpanBlocks * kBlockHalves,
                        .tiles = tiles,
                        .blocks = blocks,
                        .first = values,
                        .second = values + kSpanBlocks * kBlockHalves,
                        .first_out = sums + int64_t{d} * kQueries,
                        .second_out = sums + int64_t{d + kTile} * kQueries});
    }
    for (int32_t i = 0; i < count; ++i) {
      float* to = state_.sums_of(partial_, query + i);
      for (int32_t d = 0; d < task_.head_dim; d += kTile) {
        V::store(to + d, V::load(sums + int64_t{d} * kQueries + i * kTile));
      }
    }
  }

  /// Upper bounds of the scores of 16 keys from `key` on: the lowest for those that aren't seen.
  static typename V::Float limits(const Seen& seen, int32_t key) {
    const int32_t before = seen.begin > key ? seen.begin - key : 0;
    const int32_t left = seen.end - key < kTile ? seen.end - key : kTile;
    return V::min(V::load(kLimits + kTile - before), V::load(kLimits + 2 * kTile - left));
  }

  static constexpr float kHighest = 3e38F;
  // 16 times the lowest, 16 times the highest, 16 times the lowest.
  static constexpr float kLimits[3 * kTile] = {
      kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest,
      kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kHighest, kHighest, kHighest, kHighest,
      kHighest, kHighest, kHighest, kHighest, kHighest, kHighest, kHighest, kHighest, kHighest, kHighest,
      kHighest, kHighest, kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest,
      kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest,  kLowest};

  const AttendTask& task_;
  const PromptAttentionLayout layout_;
  const int32_t query_count_;
  FloatSpan<V, ElementOf<V>> floats_;  // where blocks don't hold whole groups of keys
  AttentionState<V> state_;
  float* const partial_;  // a partial result: of one span
};

template <typename V, typename T, template <typename> typename ElementOf>
void attend_prompt(const AttendTask& task) {
  T::begin_floats();
  PromptAttention<V, T, ElementOf>(task).run();
  T::end();
}

}  // namespace sluice::engine::cpu
