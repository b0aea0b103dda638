#pragma once

#include <cstdint>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/logit_candidates.cuh"
#include "engine/cuda/kernels/logit_key.cuh"
#include "engine/cuda/kernels/logit_weight.cuh"
#include "engine/cuda/kernels/mass_search.cuh"
#include "engine/cuda/kernels/sampling_block.cuh"
#include "engine/cuda/kernels/weight_sums.cuh"
#include "engine/cuda/sampling_rows.h"

namespace sluice::engine::cuda {

// The same token as engine::sample_token with the portable kernels draws, in the same three ways. Weights, and the sums
// of weights in float and of chunks, are the same to the bit. What may differ is the last bit of sums in double
// where a search for a mass splits candidates (mass_search.cuh) in another way than the CPU does, or does not sort them
// as the CPU does: tokens differ if unit or top_p falls on such a bit, once in some 10^14 draws. Sums of floats within
// a factor of 2^29 of each other have no such bit. And depth_max below uses another logarithm than the C library's,
// which may differ in its last bit, and so once in 10^8 in the float made of it: then there is a candidate more, or one
// less, of those that are cut anyway.

/// One row on its way to a token: what all draws share.
struct RowDraw {
  const RowLogits& logits;
  const DrawRows& rows;
  int32_t row;
  uint32_t top;  ///< key of the largest logit
  WeightScale scale;
  SamplingMemory& memory;
  Candidates& candidates;

  GPU_DEVICE uint32_t key_at_depth(double depth) const {
    const double below = gpu::rounded_product(depth, static_cast<double>(rows.temperature[row]));
    return key_of_floor(static_cast<double>(scale.max) - below);
  }
  GPU_DEVICE double unit_of(double sum) const { return gpu::rounded_product(rows.unit[row], sum); }
};

/// Compares with the likeliest token, whose weight is 1.
GPU_DEVICE void drop_below_min_p(const RowDraw& draw) {
  const float min_p = draw.rows.min_p[draw.row];
  for (int32_t i = thread_number(); i < draw.candidates.count; i += kSamplingThreads)
    if (draw.candidates.weights[i] < min_p) draw.candidates.weights[i] = 0.0F;
  gpu::sync_block();
}

/// Sets to 0 the weights of candidates, all with keys from `floor`, beyond those it takes to reach `mass`.
GPU_DEVICE void cut_beyond(double mass, uint32_t floor, const RowDraw& draw) {
  const auto weight_at = [&](int32_t i) { return static_cast<double>(draw.candidates.weights[i]); };
  const MassPoint last = find_mass<Until::kReached>(draw.candidates, {floor, draw.top}, mass, draw.memory, weight_at);
  const auto weight = static_cast<double>(weight_of(logit_of(last.key), draw.scale));
  cut_below(last.key, count_to_reach(last.left, weight), draw.memory, draw.candidates);
}

GPU_DEVICE double sum_all(const RowDraw& draw) {
  return weigh_chunks(draw.logits.vocab_size, draw.memory,
                      [&](int32_t token) { return weight_of(draw.logits.at(token), draw.scale); });
}

/// Draws from the whole vocabulary, in the order of ids.
GPU_DEVICE int32_t draw_from_all(const RowDraw& draw) {
  const double sum = sum_all(draw);
  return draw_index(draw.logits.vocab_size, draw.unit_of(sum), draw.memory,
                    [&](int32_t token) { return weight_of(draw.logits.at(token), draw.scale); });
}

/// engine::collect_nucleus, whose comments give the reasons.
GPU_DEVICE void collect_nucleus(const RowDraw& draw) {
  constexpr double kMargin = 0.01;
  constexpr double kFirstDepth = 2.0;
  constexpr double kDeeper = 1.3;
  const double sum = sum_all(draw);
  const double mass = gpu::rounded_product(static_cast<double>(draw.rows.top_p[draw.row]), sum);
  const double depth_max = natural_log(static_cast<double>(draw.logits.vocab_size) / (sum - mass)) + kMargin;
  double depth = kFirstDepth < depth_max ? kFirstDepth : depth_max;
  for (;;) {
    const uint32_t floor = draw.key_at_depth(depth);
    collect(draw.logits, floor, draw.memory, draw.candidates);
    const double found = weigh(draw.scale, draw.memory, draw.candidates);
    if (found >= mass) return cut_beyond(mass, floor, draw);
    if (depth >= depth_max) return;
    depth = depth * kDeeper < depth_max ? depth * kDeeper : depth_max;
  }
}

/// Draws from what top_p and min_p leave of the vocabulary, in the order of ids.
GPU_DEVICE int32_t draw_from_head(const RowDraw& draw) {
  if (draw.rows.top_p[draw.row] < 1.0F) {
    collect_nucleus(draw);
  } else {
    collect(draw.logits, draw.key_at_depth(draw.rows.min_p_depth[draw.row]), draw.memory, draw.candidates);
    weigh(draw.scale, draw.memory, draw.candidates);
  }
  drop_below_min_p(draw);
  const auto weight_at = [&](int32_t i) { return draw.candidates.weights[i]; };
  const double sum = sum_chunks<8, double>(draw.candidates.count, draw.memory, weight_at);
  return draw.candidates.tokens[draw_index(draw.candidates.count, draw.unit_of(sum), draw.memory, weight_at)];
}

/// Leaves weights to the top_k likeliest only; returns a key that no candidate is below.
GPU_DEVICE uint32_t collect_top_k(const RowDraw& draw) {
  const int32_t top_k = draw.rows.top_k[draw.row];
  const uint32_t floor = floor_of_top(top_k, draw.memory);
  collect(draw.logits, floor, draw.memory, draw.candidates);
  weigh(draw.scale, draw.memory, draw.candidates);
  const MassPoint last = find_mass<Until::kReached>(draw.candidates, {floor, draw.top}, static_cast<double>(top_k),
                                                    draw.memory, [](int32_t) { return 1.0; });
  cut_below(last.key, count_to_reach(last.left, 1.0), draw.memory, draw.candidates);
  return floor;
}

GPU_DEVICE double sum_left(const RowDraw& draw) {
  double sum = 0;
  for (int32_t i = thread_number(); i < draw.candidates.count; i += kSamplingThreads)
    sum += static_cast<double>(draw.candidates.weights[i]);
  return sum_of_block(sum, draw.memory);
}

/// The token of the index-th candidate, from 0, of some weight and this key; the last if there are fewer.
GPU_DEVICE int32_t find_tied(uint32_t key, int32_t index, const RowDraw& draw) {
  const auto find = [&](int32_t wanted) {
    return visit_in_order(
        draw.candidates.count, draw.memory,
        [&](int32_t i) { return draw.candidates.keys[i] == key && draw.candidates.weights[i] > 0.0F; },
        [&](int32_t i, int32_t rank) {
          if (rank == wanted) draw.memory.index = draw.candidates.tokens[i];
        });
  };
  const int32_t count = find(index);
  if (count <= index) find(count - 1);
  const int32_t token = draw.memory.index;
  gpu::sync_block();
  return token;
}

/// Draws from the top_k likeliest, best first.
GPU_DEVICE int32_t draw_from_top_k(const RowDraw& draw) {
  const uint32_t floor = collect_top_k(draw);
  const float top_p = draw.rows.top_p[draw.row];
  if (top_p < 1.0F) cut_beyond(gpu::rounded_product(static_cast<double>(top_p), sum_left(draw)), floor, draw);
  drop_below_min_p(draw);
  const MassPoint drawn =
      find_mass<Until::kPassed>(draw.candidates, {floor, draw.top}, draw.unit_of(sum_left(draw)), draw.memory,
                                [&](int32_t i) { return static_cast<double>(draw.candidates.weights[i]); });
  const auto weight = static_cast<double>(weight_of(logit_of(drawn.key), draw.scale));
  return find_tied(drawn.key, index_to_pass(drawn.left, weight), draw);
}

GPU_DEVICE int32_t draw_token(const RowLogits& logits, const DrawRows& rows, int32_t row, SamplingMemory& memory,
                              Candidates& candidates) {
  const uint64_t likeliest = find_top(logits, memory);
  const uint32_t top = key_of_likelihood(likeliest);
  const int32_t top_k = rows.top_k[row];
  if (top_k == 1 || !is_finite_key(top)) return token_of_likelihood(likeliest);
  const WeightScale scale{logit_of(top), rows.inverse_temperature[row]};
  const RowDraw draw{logits, rows, row, top, scale, memory, candidates};
  if (top_k > 0 && top_k < logits.vocab_size) return draw_from_top_k(draw);
  return rows.top_p[row] < 1.0F || rows.min_p[row] > 0.0F ? draw_from_head(draw) : draw_from_all(draw);
}

GPU_DEVICE const uint32_t* mask_of(const GrammarMasks& masks, int32_t row, int32_t vocab_size) {
  if (masks.mask_of_row == nullptr || masks.mask_of_row[row] < 0) return nullptr;
  return masks.words + static_cast<int64_t>(masks.mask_of_row[row]) * ((vocab_size + 31) / 32);
}

/// The token of each row: [rows]. Any number of blocks, each with room for its candidates, and with
/// sampling_shared_bytes of shared memory.
GPU_KERNEL(kSamplingThreads)
void draw_tokens(LogitBatch logits, GrammarMasks masks, DrawRows rows, CandidateRoom room, int32_t* tokens) {
  SamplingMemory& memory = gpu::shared<SamplingMemory>();
  Candidates candidates = candidates_of_block(room, logits.vocab_size);
  const auto blocks = static_cast<int32_t>(gpu::grid_size().x);
  for (auto row = static_cast<int32_t>(gpu::block_index().x); row < logits.rows; row += blocks) {
    const RowLogits of_row{logits.values + static_cast<int64_t>(row) * logits.vocab_size,
                           mask_of(masks, row, logits.vocab_size), logits.vocab_size};
    const int32_t scored = rows.scored_token[row];
    const int32_t token = scored >= 0 ? scored : draw_token(of_row, rows, row, memory, candidates);
    if (thread_number() == 0) tokens[row] = token;
  }
}

}  // namespace sluice::engine::cuda
