#include "scheduler/safe_state.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::scheduler {

void SafeState::assign(std::span<const SequenceLoad> sequences, int32_t free_blocks) {
  entries_.clear();
  free_ = free_blocks;
  need_sum_ = 0;
  for (const SequenceLoad& sequence : sequences) {
    entries_.push_back({sequence.need(), sequence.owned});
    need_sum_ += sequence.need();
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.need < b.need; });
}

bool SafeState::is_safe() const {
  if (need_sum_ <= free_) return true;
  int64_t available = free_;
  for (const Entry& entry : entries_) {
    if (entry.need > available) return false;
    available += entry.owned;
  }
  return true;
}

bool SafeState::may_take(int32_t need, int32_t count) const {
  SLUICE_CHECK(count > 0 && count <= need);
  if (need_sum_ <= free_) return true;
  // Those who then need less than he go first and find so many blocks less. Those after him get them back with what he
  // owns: as the state is safe, they find what they need.
  const int32_t left = need - count;
  int64_t available = free_ - count;
  for (const Entry& entry : entries_) {
    if (entry.need >= left) break;
    if (entry.need > available) return false;
    available += entry.owned;
  }
  return left <= available;
}

void SafeState::take(int32_t need, int32_t owned, int32_t count) {
  const auto needs_less = [](const Entry& entry, int32_t n) { return entry.need < n; };
  const auto equals = std::lower_bound(entries_.begin(), entries_.end(), need, needs_less);
  const auto taker = std::find_if(equals, entries_.end(), [owned](const Entry& entry) { return entry.owned == owned; });
  SLUICE_CHECK(taker != entries_.end() && taker->need == need);
  taker->need -= count;
  taker->owned += count;
  free_ -= count;
  need_sum_ -= count;
  // To where the order still ascends.
  std::rotate(std::lower_bound(entries_.begin(), equals, taker->need, needs_less), taker, taker + 1);
}

}  // namespace sluice::scheduler
