#include "scheduler/start_forecast.h"

#include <algorithm>
#include <cmath>

namespace sluice::scheduler {

int32_t StartForecast::expected_left(const SequenceLoad& sequence) const {
  const double mean = lengths_->at(sequence.lengths).mean_left(sequence.drawn, sequence.left);
  return std::clamp(static_cast<int32_t>(std::ceil(mean)), 1, std::max(1, sequence.left));
}

void StartForecast::add_if_running(const StartView& view, const SequenceLoad& sequence, int32_t expected,
                                   int32_t steps) {
  if (expected <= steps) return;
  SequenceLoad later = sequence;
  later.tokens += steps;
  later.drawn += steps;
  later.left -= steps;
  later.table = std::max(later.table, static_cast<int32_t>(view.growth.blocks_for(later.tokens)));
  later.owned += later.table - sequence.table;
  advanced_.push_back(later);
}

void StartForecast::expect(const StartView& view) {
  expected_.clear();
  for (const SequenceLoad& sequence : view.running) expected_.push_back(expected_left(sequence));
}

void StartForecast::advance(const StartView& view, int32_t steps) {
  advanced_.clear();
  for (size_t i = 0; i < expected_.size(); ++i) add_if_running(view, view.running[i], expected_[i], steps);
}

bool StartForecast::admits(const StartView& view, const SequenceLoad& candidate) {
  if (static_cast<int32_t>(advanced_.size()) >= view.max_running) return false;
  advanced_.push_back(candidate);
  int64_t free = int64_t{view.capacity} - view.shared;
  for (const SequenceLoad& sequence : advanced_) free -= sequence.owned;
  const bool fits = free >= 0 && admission_.admits(view.policy,
                                                   {.sequences = advanced_,
                                                    .capacity = view.capacity,
                                                    .shared = view.shared,
                                                    .free = static_cast<int32_t>(free),
                                                    .growth = view.growth},
                                                   view.z);
  advanced_.pop_back();
  return fits;
}

int32_t StartForecast::steps_until_start(const StartView& view, const SequenceLoad& candidate) {
  expect(view);
  ends_.assign(1, 0);
  ends_.insert(ends_.end(), expected_.begin(), expected_.end());
  std::sort(ends_.begin(), ends_.end());
  // Room only grows with the ends, near enough for a forecast.
  const auto first = std::partition_point(ends_.begin(), ends_.end() - 1, [&](int32_t steps) {
    advance(view, steps);
    return !admits(view, candidate);
  });
  return *first;
}

bool StartForecast::delays(const StartView& view, const SequenceLoad& passer, const SequenceLoad& head, int32_t steps) {
  if (passer.left <= steps) return false;  // gone by then
  expect(view);
  advance(view, steps);
  add_if_running(view, passer, passer.left, steps);
  return !admits(view, head);
}

}  // namespace sluice::scheduler
