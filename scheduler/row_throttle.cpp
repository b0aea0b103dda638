#include "scheduler/row_throttle.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice::scheduler {

namespace {

constexpr double kDoubt = 0.45;       // of trust: three sigma below its mean, as long as the load is what it was
constexpr int32_t kScarceBlocks = 2;  // free ones for each sequence

double mean_trust(std::span<const SequenceLoad> sequences, const LengthBook& lengths) {
  double sum = 0;
  for (const SequenceLoad& sequence : sequences) sum += lengths.at(sequence.lengths).trust();
  return sum / static_cast<double>(sequences.size());
}

}  // namespace

void RowThrottle::update(std::span<const SequenceLoad> sequences, const LengthBook& lengths, const Block& block) {
  if (sequences.empty()) return clear();
  const bool is_scarce = block.free < kScarceBlocks * static_cast<int64_t>(sequences.size());
  const bool is_alarmed = is_active() || (is_scarce && mean_trust(sequences, lengths) < kDoubt);
  if (!is_alarmed || peak_.of(sequences, block.size) <= block.capacity) return clear();
  choose(sequences, block);
}

void RowThrottle::choose(std::span<const SequenceLoad> sequences, const Block& block) {
  order_.resize(sequences.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto need = [&](int32_t index) { return sequences[static_cast<size_t>(index)].need(); };
  // Not stable_sort, which allocates.
  std::sort(order_.begin(), order_.end(),
            [&](int32_t a, int32_t b) { return std::pair(need(a), a) < std::pair(need(b), b); });
  // A slow one with less than half a block of places left will want a block before long.
  const auto wants_soon = [&](int32_t index) {
    const SequenceLoad& sequence = sequences[static_cast<size_t>(index)];
    return sequence.need() > 0 && (sequence.tokens + block.size / 2 + block.size - 1) / block.size > sequence.table;
  };
  auto waiting = std::count_if(order_.begin(), order_.end(), wants_soon);
  slow_.assign(sequences.size(), true);
  int64_t room = block.free;
  bool is_first = true;
  for (const int32_t index : order_) {
    waiting -= wants_soon(index) ? 1 : 0;
    if (!is_first && room - need(index) < waiting) return;
    is_first = false;
    room -= need(index);
    slow_[static_cast<size_t>(index)] = false;
  }
}

}  // namespace sluice::scheduler
