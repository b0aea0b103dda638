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
    for (int32_t span = 0; span < attend_span_count(task_); ++span) {
      const int32_t key_count = state_.key_count(span);
      floats_.fill(span, key_count);
      take_keys(key_count);
      take_values(key_count);
      score(key_count);
      for (int32_t query = state_.first_query(span); query < query_count_; ++query) weigh(query, span, key_count);
      add_values(key_count);
      state_.merge(span, partial_);
    }
    state_.finish();
  }

 private:
  static constexpr int32_t kTile = 16;
  static constexpr int32_t kBlockHalves = 512;  // of a tile: 16 x 32
  static constexpr int32_t kSpanBlocks = kKeySpan / kQuantBlock;

  uint16_t* halves(int64_t begin) const { return reinterpret_cast<uint16_t*>(task_.scratch + begin); }
  float* scores() const { return task_.scratch + layout_.scores_begin; }
  float* sums() const { return task_.scratch + layout_.sums_begin; }

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

  // Keys past key_count are whatever lies there: their scores are never used.
  void take_keys(int32_t key_count) {
    uint16_t* to = halves(layout_.keys_begin);
    for (int32_t key = 0; key < key_count; key += kTile) {
      const float* keys = floats_.keys(key);
      for (int32_t pair = 0; pair < task_.head_dim / 2; ++pair, to += 2 * kTile, keys += 2 * kKeyLanes) {
        V::store_bf16_pairs(to, V::load(keys), V::load(keys + kKeyLanes));
      }
    }
  }

  // Values past key_count are zero: their weights are, and what lies there need not be numbers.
  void take_values(int32_t key_count) {
    const int32_t end = (key_count + kQuantBlock - 1) / kQuantBlock * kQuantBlock;
    const auto zero = V::set(0);
    for (int32_t key = 0; key < end; key += 2) {
      uint16_t* to = halves(layout_.values_begin) + key / kQuantBlock * kBlockHalves + key % kQuantBlock * kTile;
      for (int32_t d = 0; d < task_.head_dim; d += kTile, to += kSpanBlocks * kBlockHalves) {
        const auto first = key < key_count ? V::load(floats_.values(key) + d) : zero;
        const auto second = key + 1 < key_count ? V::load(floats_.values(key + 1) + d) : zero;
        V::store_bf16_pairs(to, first, second);
      }
    }
  }

  /// out[column tile][16][16] = x times weights, `blocks` tiles long.
  void multiply(const uint16_t* x, int64_t tile_stride, const uint16_t* weights, int32_t blocks, float* out) const {
    for (int64_t i = 0; i < layout_.query_tiles * kTile * kTile; i += V::kLanes) V::store(out + i, V::set(0));
    for (int64_t tile = 0; tile < layout_.query_tiles; tile += 4) {
      const auto tiles = static_cast<int32_t>(layout_.query_tiles - tile < 4 ? layout_.query_tiles - tile : 4);
      T::add_products(x + tile * tile_stride, tile_stride, weights, blocks, tiles, out + tile * kTile * kTile);
    }
  }

  void score(int32_t key_count) {
    const auto blocks = static_cast<int32_t>(layout_.head_blocks);
    for (int32_t group = 0; group * kTile < key_count; ++group) {
      multiply(halves(layout_.queries_begin), layout_.head_blocks * kBlockHalves,
               halves(layout_.keys_begin) + group * layout_.head_blocks * kBlockHalves, blocks, scores_of(0, group));
    }
  }

  float* scores_of(int32_t query, int32_t group) const {
    return scores() + (group * layout_.query_tiles * kTile + query) * kTile;
  }

  // Scores become weights relative to the span's highest; groups of keys past key_count get none.
  void weigh(int32_t query, int32_t span, int32_t key_count) {
    const int32_t groups = (key_count + kTile - 1) / kTile;
    const int32_t seen = state_.seen(query, span);
    auto top = V::set(AttentionState<V>::kLowest);
    for (int32_t group = 0; group < groups; ++group) {
      float* scores = scores_of(query, group);
      auto score = V::mul(V::load(scores), V::set(task_.scale));
      if constexpr (ElementOf<V>::kHasScales) score = V::mul(score, V::load(floats_.key_scales(group * kTile)));
      V::store(scores, score);
      const int32_t seen_here = seen > group * kTile ? seen - group * kTile : 0;
      for (int32_t key = seen_here; key < kTile; ++key) scores[key] = AttentionState<V>::kLowest;
      top = V::max(top, V::load(scores));
    }
    const float highest = V::max_of(top);
    auto total = V::set(0);
    uint16_t* row =
        halves(layout_.weights_begin) + query / kTile * kSpanBlocks * kBlockHalves + query % kTile * kQuantBlock;
    for (int32_t group = 0; group < (groups + 1) / 2 * 2; ++group) {
      auto weight = V::set(0);
      if (group < groups) {
        const auto score = V::load(scores_of(query, group));
        const auto distance = V::sub(score, V::set(highest));
        weight = V::zero_unless_at_least(exponential<V>(distance), score, V::set(0.5F * AttentionState<V>::kLowest));
        total = V::add(total, weight);
        if constexpr (ElementOf<V>::kHasScales) weight = V::mul(weight, V::load(floats_.value_scales(group * kTile)));
      }
      V::store_bf16(row + group / 2 * kBlockHalves + group % 2 * kTile, weight);
    }
    *state_.top_of(partial_, query) = highest;
    *state_.total_of(partial_, query) = V::sum_of(total);
  }

  void add_values(int32_t key_count) {
    const int32_t blocks = (key_count + kQuantBlock - 1) / kQuantBlock;
    for (int32_t d = 0; d < task_.head_dim; d += kTile) {
      multiply(halves(layout_.weights_begin), kSpanBlocks * kBlockHalves,
               halves(layout_.values_begin) + d / kTile * kSpanBlocks * kBlockHalves, blocks, sums());
      for (int32_t query = 0; query < query_count_; ++query) {
        V::store(state_.sums_of(partial_, query) + d, V::load(sums() + query * kTile));
      }
    }
  }

  const AttendTask& task_;
  const PromptAttentionLayout layout_;
  const int32_t query_count_;
  FloatSpan<V, ElementOf<V>> floats_;
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
