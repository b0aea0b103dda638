#include "engine/softmax.h"

#include <algorithm>
#include <array>
#include <limits>

namespace sluice::engine {
namespace {

constexpr size_t kLanes = 16;   // independent maxima, so that the compiler may use vectors
constexpr size_t kChunk = 256;  // weights per partial sum: a draw looks at single weights of one chunk only

std::span<const float> chunk_at(std::span<const float> weights, size_t begin) {
  return weights.subspan(begin, std::min(kChunk, weights.size() - begin));
}

double sum_chunk(std::span<const float> chunk) {
  double sum = 0;
  for (const float weight : chunk) sum += static_cast<double>(weight);
  return sum;
}

/// The first index at which the running sum passes `target`, else the last of positive weight: rounding may leave the
/// target behind.
size_t draw_from_chunk(std::span<const float> chunk, double target) {
  size_t drawn = 0;
  double passed = 0;
  for (size_t i = 0; i < chunk.size(); ++i) {
    if (chunk[i] <= 0.0F) continue;
    drawn = i;
    passed += static_cast<double>(chunk[i]);
    if (target < passed) break;
  }
  return drawn;
}

}  // namespace

float max_logit(std::span<const float> logits) {
  std::array<float, kLanes> lane;
  lane.fill(-std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) lane[j] = logits[i + j] > lane[j] ? logits[i + j] : lane[j];
  }
  for (; i < logits.size(); ++i) lane[0] = logits[i] > lane[0] ? logits[i] : lane[0];
  return *std::max_element(lane.begin(), lane.end());
}

double sum_weights(std::span<const float> weights) {
  double sum = 0;
  for (size_t begin = 0; begin < weights.size(); begin += kChunk) sum += sum_chunk(chunk_at(weights, begin));
  return sum;
}

size_t draw_index(std::span<const float> weights, double unit) {
  double target = unit * sum_weights(weights);
  size_t chosen = 0;
  double target_in_chosen = 0;
  for (size_t begin = 0; begin < weights.size(); begin += kChunk) {
    const double sum = sum_chunk(chunk_at(weights, begin));
    if (sum <= 0) continue;
    chosen = begin;
    target_in_chosen = target;
    if (target < sum) break;
    target -= sum;
  }
  return chosen + draw_from_chunk(chunk_at(weights, chosen), target_in_chosen);
}

}  // namespace sluice::engine
