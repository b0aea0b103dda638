#include "engine/logit_kernels.h"

#include <algorithm>
#include <array>

#include "engine/softmax.h"

namespace sluice::engine {
namespace {

// Small arrays of known size: compilers turn them into vectors at every level of optimisation.
constexpr int32_t kLanes = 16;
using Lanes = std::array<float, kLanes>;

double weigh(const float* logits, int32_t count, LogitScale scale, float* weights) {
  const float inverse = 1.0F / scale.temperature;
  const auto weight_of = [&](float logit) { return exp_nonpositive((logit - scale.max) * inverse); };
  Lanes sums{};
  int32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Lanes lanes;
    std::copy_n(logits + i, kLanes, lanes.begin());
    for (float& lane : lanes) lane = weight_of(lane);
    for (size_t j = 0; j < kLanes; ++j) sums[j] += lanes[j];
    std::copy_n(lanes.begin(), kLanes, weights + i);
  }
  for (size_t j = 0; i < count; ++i, ++j) {
    weights[i] = weight_of(logits[i]);
    sums[j] += weights[i];
  }
  double sum = 0;
  for (const float lane : sums) sum += static_cast<double>(lane);
  return sum;
}

}  // namespace

int32_t collect_logits(const Logits& logits, float floor, int32_t* tokens, float* values) {
  int32_t count = 0;
  const auto vocab_size = static_cast<int32_t>(logits.values.size());
  for (size_t block = 0; block < logits.block_tops.size(); ++block) {
    if (!(logits.block_tops[block] >= floor)) continue;
    const int32_t begin = static_cast<int32_t>(block) * kLogitBlock;
    const int32_t end = std::min(begin + kLogitBlock, vocab_size);
    // Written always and counted if wanted: there is no pattern for a branch to follow.
    for (int32_t token = begin; token < end; ++token) {
      const float value = logits.values[static_cast<size_t>(token)];
      tokens[count] = token;
      values[count] = value;
      count += value >= floor ? 1 : 0;
    }
  }
  return count;
}

const LogitKernels& portable_logit_kernels() {
  static constexpr LogitKernels kernels{.weigh = weigh, .collect = collect_logits};
  return kernels;
}

}  // namespace sluice::engine
