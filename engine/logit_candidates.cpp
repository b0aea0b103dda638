#include "engine/logit_candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/softmax.h"

namespace sluice::engine {
namespace {

/// The smallest finite float that is at least `floor`; it has just the same floats above it.
float float_floor(double floor) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  const auto nearest = static_cast<float>(std::max(floor, static_cast<double>(kLowest)));
  return static_cast<double>(nearest) < floor ? std::nextafter(nearest, std::numeric_limits<float>::max()) : nearest;
}

}  // namespace

void LogitCandidates::collect(const Logits& logits, double floor, const LogitKernels& kernels) {
  const size_t room = logit_block_count(logits.values.size()) * kLogitBlock;
  if (tokens_.size() < room) {
    tokens_.resize(room);
    logits_.resize(room);
    weights_.resize(room);
  }
  count_ = static_cast<size_t>(kernels.collect(logits, float_floor(floor), tokens_.data(), logits_.data()));
}

double LogitCandidates::weigh(const LogitScale& scale, const LogitKernels& kernels) {
  return weigh_all(logits(), scale, kernels, weights());
}

}  // namespace sluice::engine
