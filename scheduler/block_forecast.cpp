#include "scheduler/block_forecast.h"

#include <algorithm>
#include <cmath>

namespace sluice::scheduler {
namespace {

constexpr int32_t kGridPoints = 24;

int32_t longest_left(std::span<const SequenceLoad> sequences) {
  int32_t longest = 0;
  for (const SequenceLoad& sequence : sequences) longest = std::max(longest, sequence.left);
  return longest;
}

}  // namespace

bool BlockForecast::fits(std::span<const SequenceLoad> sequences, double z, int64_t capacity) const {
  const int32_t far = longest_left(sequences);
  const int32_t step = std::max(growth_.block_size, far / kGridPoints);
  for (int32_t tokens = 0; tokens <= far; tokens += step) {
    const Moments owned = owned_after(sequences, tokens, step);
    if (owned.mean + z * std::sqrt(owned.variance) > static_cast<double>(capacity)) return false;
  }
  return true;
}

BlockForecast::Moments BlockForecast::owned_after(std::span<const SequenceLoad> sequences, int32_t tokens,
                                                  int32_t ahead) const {
  Moments sum;
  for (const SequenceLoad& sequence : sequences) {
    if (tokens > 0 && tokens >= sequence.left) continue;
    const double alive = tokens == 0 ? 1.0 : lengths_->at(sequence.lengths).survival(sequence.drawn, tokens);
    const int32_t places = sequence.tokens + std::min(tokens + ahead, sequence.left);
    const auto blocks = static_cast<double>(growth_.blocks_for(places) - sequence.shared());
    sum.mean += alive * blocks;
    sum.variance += alive * (1 - alive) * blocks * blocks;
  }
  return sum;
}

}  // namespace sluice::scheduler
