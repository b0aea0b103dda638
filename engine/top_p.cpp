#include "engine/top_p.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "engine/top_tokens.h"

namespace sluice::engine {
namespace {

constexpr size_t kBins = 64;
constexpr size_t kSortedMax = 32;  // so few are sorted without splitting them once more

/// The tokens among which the last one kept lies. What is likelier is kept, what is less likely dropped.
struct Bracket {
  std::vector<TokenLogprob>& tokens;  ///< in the order of ids; the index among the candidates stands for the token
  double mass = 0;                    ///< still to keep of them
};

struct Range {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();
};

Range range_of(std::span<const TokenLogprob> tokens) {
  Range range;
  for (const TokenLogprob& token : tokens) {
    range.low = std::min(range.low, token.logprob);
    range.high = std::max(range.high, token.logprob);
  }
  return range;
}

/// Narrows the bracket to those of about the same logit: the largest logit is always in the first bin, the smallest
/// never, so every round drops some.
void narrow(const Range& range, std::span<const float> weights, Bracket& bracket) {
  // In double, where no difference of two floats overflows.
  const auto high = static_cast<double>(range.high);
  const double bins_per_unit = static_cast<double>(kBins - 1) / (high - static_cast<double>(range.low));
  const auto bin_of = [&](float logit) {
    return static_cast<size_t>((high - static_cast<double>(logit)) * bins_per_unit);
  };
  std::array<double, kBins> masses{};
  for (const TokenLogprob& token : bracket.tokens) {
    masses[bin_of(token.logprob)] += static_cast<double>(weights[static_cast<size_t>(token.token)]);
  }
  size_t bin = 0;
  while (bin + 1 < kBins && masses[bin] < bracket.mass) bracket.mass -= masses[bin++];
  std::erase_if(bracket.tokens, [&](const TokenLogprob& token) { return bin_of(token.logprob) != bin; });
}

/// The last one, likeliest first, that it takes to reach the mass.
TokenLogprob find_last_kept(std::span<const float> weights, Bracket bracket) {
  while (bracket.tokens.size() > kSortedMax) {
    const Range range = range_of(bracket.tokens);
    if (range.low == range.high) break;
    narrow(range, weights, bracket);
  }
  std::vector<TokenLogprob>& tokens = bracket.tokens;
  // Equal ones, of which there may be many, are in order already.
  if (!std::is_sorted(tokens.begin(), tokens.end(), is_likelier)) std::sort(tokens.begin(), tokens.end(), is_likelier);
  double passed = 0;
  size_t last = 0;
  for (size_t i = 0; i < tokens.size() && passed < bracket.mass; ++i) {
    last = i;
    passed += static_cast<double>(weights[static_cast<size_t>(tokens[i].token)]);
  }
  return tokens[last];
}

/// Collects from ever lower floors, in units of temperature below the maximum, until there is as much as wanted: most
/// heads are short, and tokens below the floor cost nothing.
double collect_mass(const Logits& logits, const LogitScale& scale, double mass, double depth_max,
                    const LogitKernels& kernels, LogitCandidates& candidates) {
  constexpr double kFirstDepth = 2.0;
  constexpr double kDeeper = 1.3;
  for (double depth = std::min(kFirstDepth, depth_max);; depth = std::min(depth * kDeeper, depth_max)) {
    candidates.collect(logits, static_cast<double>(scale.max) - depth * static_cast<double>(scale.temperature),
                       kernels);
    const double found = candidates.weigh(scale, kernels);
    if (found >= mass || depth >= depth_max) return found;
  }
}

}  // namespace

void collect_nucleus(const Logits& logits, const LogitScale& scale, double sum, float top_p,
                     const LogitKernels& kernels, LogitCandidates& candidates, std::vector<TokenLogprob>& scratch) {
  // n tokens deeper than d weigh less than n e^-d together: no token deeper than d = log(n / mass dropped) is kept.
  constexpr double kMargin = 0.01;
  const double mass = static_cast<double>(top_p) * sum;
  const double depth_max = std::log(static_cast<double>(logits.values.size()) / (sum - mass)) + kMargin;
  if (collect_mass(logits, scale, mass, depth_max, kernels, candidates) < mass) return;
  scratch.clear();
  for (size_t i = 0; i < candidates.count(); ++i) scratch.push_back({static_cast<int32_t>(i), candidates.logits()[i]});
  const std::span<float> weights = candidates.weights();
  const TokenLogprob last = find_last_kept(weights, {scratch, mass});
  for (size_t i = 0; i < weights.size(); ++i) {
    if (is_likelier(last, {static_cast<int32_t>(i), candidates.logits()[i]})) weights[i] = 0.0F;
  }
}

void drop_beyond_top_p_sorted(float top_p, std::span<float> weights) {
  if (top_p >= 1.0F) return;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double mass = static_cast<double>(top_p) * sum;
  double passed = 0;
  for (float& weight : weights) {
    if (passed >= mass) weight = 0.0F;
    passed += static_cast<double>(weight);
  }
}

}  // namespace sluice::engine
