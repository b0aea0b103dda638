#include "scheduler/output_lengths.h"

#include <algorithm>
#include <cmath>

namespace sluice::scheduler {
namespace {

constexpr size_t kWindow = 400;          // finished sequences remembered
constexpr int32_t kLengthMax = 1 << 14;  // longer ones are taken as this long
constexpr double kMemory = 10;           // foretold ends after which counts of ends weigh 1/e: the pace of the evidence
constexpr double kPrior = 3;             // ends that confirm the estimate before any was seen

}  // namespace

void OutputLengths::note_finished(int32_t length, bool at_cap) {
  if (finished_.size() == kWindow) finished_.pop_front();
  finished_.push_back({std::min(length, kLengthMax), at_cap});
}

void OutputLengths::note_drawn(int32_t drawn, bool ended) {
  if (!is_known() || log_survival_.empty()) return;
  const double hazard = -std::expm1(log_survival_[index_of(drawn + 1)] - log_survival_[index_of(drawn)]);
  // Forgetting by evidence instead of by time: a jam, in which few tokens are drawn, is not a reason to trust again.
  const double kept = 1 - hazard / kMemory;
  expected_ends_ = expected_ends_ * kept + hazard;
  ends_ = ends_ * kept + (ended ? 1 : 0);
}

double OutputLengths::trust() const {
  return std::min(1.0, (ends_ + kPrior) / (expected_ends_ + kPrior));
}

void OutputLengths::refresh(std::span<const SequenceLoad> running) {
  int32_t longest = 0;
  for (const Finished& finished : finished_) longest = std::max(longest, finished.length);
  const auto size = static_cast<size_t>(longest) + 1;
  ended_.assign(size, 0);
  censored_.assign(size, 0);
  for (const Finished& finished : finished_) {
    ++(finished.at_cap ? censored_ : ended_)[static_cast<size_t>(finished.length)];
  }
  auto at_risk = static_cast<int64_t>(finished_.size()) + 1;
  for (const SequenceLoad& sequence : running) {
    // Beyond the longest nothing is estimated, so those who are there only count as at risk all the way.
    if (sequence.drawn <= longest) ++censored_[static_cast<size_t>(sequence.drawn)];
    ++at_risk;
  }
  log_survival_.resize(size);
  survival_.resize(size);
  const double power = trust();
  double sum = 0;
  double alive = 1;
  for (size_t n = 0; n < size; ++n) {
    if (ended_[n] > 0) {
      sum += std::log1p(-static_cast<double>(ended_[n]) / static_cast<double>(at_risk));
      alive = std::exp(power * sum);
    }
    log_survival_[n] = sum;
    survival_[n] = alive;
    at_risk -= ended_[n] + censored_[n];
  }
}

size_t OutputLengths::index_of(int32_t length) const {
  return std::min(static_cast<size_t>(length), log_survival_.size() - 1);
}

double OutputLengths::survival(int32_t drawn, int32_t more) const {
  if (!is_known() || survival_.empty()) return 1;
  return survival_[index_of(drawn + more)] / survival_[index_of(drawn)];
}

double OutputLengths::mean_left(int32_t drawn, int32_t left) const {
  const int32_t step = std::max(1, left / 64);
  double mean = 0;
  for (int32_t more = 0; more < left; more += step) mean += survival(drawn, more) * std::min(step, left - more);
  return mean;
}

}  // namespace sluice::scheduler
