#include "scheduler/safe_state.h"

#include <algorithm>
#include <utility>

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

bool SafeState::may_take(int32_t need) const {
  SLUICE_CHECK(need > 0);
  if (need_sum_ <= free_) return true;
  // Those who need less go first and find one block less. He himself needs one less too, and those after him get it
  // back with what he owns: as the state is safe, they find what they need.
  int64_t available = free_ - 1;
  for (const Entry& entry : entries_) {
    if (entry.need >= need) break;
    if (entry.need > available) return false;
    available += entry.owned;
  }
  return free_ > 0;
}

void SafeState::take(int32_t need, int32_t owned) {
  const auto first = std::lower_bound(entries_.begin(), entries_.end(), need,
                                      [](const Entry& entry, int32_t n) { return entry.need < n; });
  const auto taker = std::find_if(first, entries_.end(), [owned](const Entry& entry) { return entry.owned == owned; });
  SLUICE_CHECK(taker != entries_.end() && taker->need == need);
  std::swap(*first, *taker);  // to the front of its equals, so that the order still ascends
  --first->need;
  ++first->owned;
  --free_;
  --need_sum_;
}

}  // namespace sluice::scheduler
