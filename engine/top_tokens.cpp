#include "engine/top_tokens.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace sluice::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A logit that at least `count` tokens reach, close to the count-th largest. Any `count` disjoint groups of tokens
/// have so many different tokens for tops, so the count-th largest top will do; four times as many groups as tokens
/// wanted leave few strangers above it.
float floor_of_top(std::span<const float> block_tops, size_t count, std::vector<float>& group_tops) {
  constexpr size_t kLanes = kLogitBlock;  // inner loops of known length become vectors
  if (count > block_tops.size()) return -kInfinity;
  const size_t lane_groups = std::min((4 * count + kLanes - 1) / kLanes, (block_tops.size() + kLanes - 1) / kLanes);
  group_tops.assign(lane_groups * kLanes, -kInfinity);
  size_t i = 0;
  for (size_t group = 0; i + kLanes <= block_tops.size();
       i += kLanes, group = group + 1 < lane_groups ? group + 1 : 0) {
    float* const tops = &group_tops[group * kLanes];
    for (size_t j = 0; j < kLanes; ++j) tops[j] = std::max(tops[j], block_tops[i + j]);
  }
  for (size_t j = 0; i < block_tops.size(); ++i, ++j) group_tops[j] = std::max(group_tops[j], block_tops[i]);
  const auto last = group_tops.begin() + static_cast<std::ptrdiff_t>(count) - 1;
  std::nth_element(group_tops.begin(), last, group_tops.end(), std::greater<>());
  return *last;
}

}  // namespace

bool is_likelier(const TokenLogprob& a, const TokenLogprob& b) {
  return a.logprob != b.logprob ? a.logprob > b.logprob : a.token < b.token;
}

void select_top(const Logits& logits, size_t count, const LogitKernels& kernels, TopTokensScratch& scratch,
                std::vector<TokenLogprob>& top) {
  top.clear();
  if (count == 0) return;
  const LogitCandidates& found = scratch.candidates;
  const float floor = floor_of_top(logits.block_tops, count, scratch.group_tops);
  scratch.candidates.collect(logits, static_cast<double>(floor), kernels);
  for (size_t i = 0; i < found.count(); ++i) top.push_back({found.tokens()[i], found.logits()[i]});
  if (top.size() > 2 * count) {
    std::nth_element(top.begin(), top.begin() + static_cast<std::ptrdiff_t>(count), top.end(), is_likelier);
    top.resize(count);
  }
  std::sort(top.begin(), top.end(), is_likelier);
  top.resize(std::min(top.size(), count));
}

}  // namespace sluice::engine
