#include "engine/top_tokens.h"

#include <algorithm>
#include <limits>

namespace sluice::engine {
namespace {

/// Keeps the `count` likeliest, best last of them at the end, and returns its logit: what a newcomer must beat.
float shrink_to(size_t count, std::vector<TokenLogprob>& top) {
  const auto last = top.begin() + static_cast<std::ptrdiff_t>(count) - 1;
  std::nth_element(top.begin(), last, top.end(), is_likelier);
  top.resize(count);
  return top.back().logprob;
}

}  // namespace

bool is_likelier(const TokenLogprob& a, const TokenLogprob& b) {
  return a.logprob != b.logprob ? a.logprob > b.logprob : a.token < b.token;
}

void select_top(std::span<const float> logits, size_t count, std::vector<TokenLogprob>& top) {
  top.clear();
  if (count == 0) return;
  count = std::min(count, logits.size());
  // Collect what beats the worst kept so far, and thin out whenever as many again have come. Ids rise, so an equal
  // logit never beats.
  const size_t collected_max = std::max<size_t>(2 * count, 64);
  float to_beat = -std::numeric_limits<float>::infinity();
  for (size_t token = 0; token < logits.size(); ++token) {
    if (!(logits[token] > to_beat)) continue;
    top.push_back({static_cast<int32_t>(token), logits[token]});
    if (top.size() >= collected_max) to_beat = shrink_to(count, top);
  }
  if (top.size() > count) shrink_to(count, top);
  std::sort(top.begin(), top.end(), is_likelier);
}

}  // namespace sluice::engine
