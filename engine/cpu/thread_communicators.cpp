#include "engine/cpu/thread_communicators.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::engine {
namespace {

Status another_has_left() {
  return unavailable("another rank of the model has failed");
}

}  // namespace

ThreadCommunicators::ThreadCommunicators(int32_t rank_count) : values_(static_cast<size_t>(rank_count)) {
  SLUICE_CHECK(rank_count >= 1 && rank_count <= kRanksMax);
  for (int32_t rank = 0; rank < rank_count; ++rank) members_.emplace_back(*this, rank);
}

Status ThreadCommunicators::all_reduce(int32_t rank, std::span<float> values) {
  values_[static_cast<size_t>(rank)] = values;
  SLUICE_RETURN_IF_ERROR(meet());
  add_up(rank);
  return meet();
}

// A rank has a run of the values for itself, so nobody waits for another's sum.
void ThreadCommunicators::add_up(int32_t rank) {
  const size_t count = values_.front().size();
  const auto index = static_cast<size_t>(rank);
  const size_t begin = count * index / values_.size();
  const size_t size = count * (index + 1) / values_.size() - begin;
  const std::span<float> sum = values_.front().subspan(begin, size);
  for (size_t other = 1; other < values_.size(); ++other) {
    SLUICE_CHECK(values_[other].size() == count);
    const std::span<const float> added = values_[other].subspan(begin, size);
    for (size_t i = 0; i < size; ++i) sum[i] += added[i];
  }
  for (size_t other = 1; other < values_.size(); ++other) {
    std::ranges::copy(sum, values_[other].subspan(begin, size).begin());
  }
}

// Who leaves says so before it opens the gate: whoever still reads the old count finds it opened, whoever reads the new
// one finds that somebody has left.
Status ThreadCommunicators::meet() {
  const uint32_t seen = met_.count();
  const uint32_t meetings = meetings_.load();
  if (has_left_.load()) return another_has_left();
  if (arrived_.fetch_add(1) + 1 == rank_count()) {
    arrived_.store(0);
    meetings_.fetch_add(1);
    met_.open();
    return Status();
  }
  if (!met_.opens_soon(seen)) met_.sleep(seen);
  return meetings_.load() == meetings ? another_has_left() : Status();
}

// Ranks that have met once in a sum meet twice, as none leaves within it: a sum is whole or was never begun.
void ThreadCommunicators::break_up() {
  has_left_.store(true);
  met_.open();
}

}  // namespace sluice::engine
