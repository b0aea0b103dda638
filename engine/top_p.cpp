#include "engine/top_p.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "engine/softmax.h"
#include "engine/top_tokens.h"

namespace sluice::engine {
namespace {

// The bits of positive floats are in the order of their values, so the upper ones (exponent, three bits of mantissa)
// make bins whose weights differ by less than an eighth.
constexpr int kBinShift = 20;
constexpr size_t kBins = (std::bit_cast<uint32_t>(1.0F) >> kBinShift) + 1;

size_t bin_of(float weight) {
  return std::bit_cast<uint32_t>(weight) >> kBinShift;
}

/// Where the cut goes through: bins above are kept whole, those below dropped whole.
struct Cut {
  size_t bin = 0;
  double mass_in_bin = 0;  ///< that is still to keep of the bin
};

Cut find_cut(std::span<const float> weights, float top_p) {
  std::array<double, kBins> mass{};
  for (const float weight : weights) mass[bin_of(weight)] += static_cast<double>(weight);
  Cut cut{.bin = kBins - 1, .mass_in_bin = static_cast<double>(top_p) * std::accumulate(mass.begin(), mass.end(), 0.0)};
  while (cut.bin > 0 && mass[cut.bin] < cut.mass_in_bin) cut.mass_in_bin -= mass[cut.bin--];
  return cut;
}

/// How many of the tokens, likeliest first, it takes to reach the mass; all if they never do.
size_t count_to_mass(std::span<const TokenLogprob> tokens, std::span<const float> weights, double mass) {
  double passed = 0;
  size_t count = 0;
  while (count < tokens.size() && passed < mass)
    passed += static_cast<double>(weights[static_cast<size_t>(tokens[count++].token)]);
  return count;
}

}  // namespace

void drop_beyond_top_p(std::span<const float> logits, float top_p, std::vector<TokenLogprob>& scratch,
                       std::span<float> weights) {
  if (top_p >= 1.0F) return;
  const Cut cut = find_cut(weights, top_p);
  scratch.clear();
  for (size_t token = 0; token < weights.size(); ++token) {
    const size_t bin = bin_of(weights[token]);
    if (bin == cut.bin && weights[token] > 0.0F) scratch.push_back({static_cast<int32_t>(token), logits[token]});
    if (bin < cut.bin) weights[token] = 0.0F;
  }
  std::sort(scratch.begin(), scratch.end(), is_likelier);
  const size_t kept = count_to_mass(scratch, weights, cut.mass_in_bin);
  for (const TokenLogprob& dropped : std::span(scratch).subspan(kept))
    weights[static_cast<size_t>(dropped.token)] = 0.0F;
}

void drop_beyond_top_p_sorted(float top_p, std::span<float> weights) {
  if (top_p >= 1.0F) return;
  const double mass = static_cast<double>(top_p) * sum_weights(weights);
  double passed = 0;
  for (float& weight : weights) {
    if (passed >= mass) weight = 0.0F;
    passed += static_cast<double>(weight);
  }
}

}  // namespace sluice::engine
