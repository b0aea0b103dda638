#include "scheduler/row_throttle.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice::scheduler {

namespace {

constexpr double kDoubt = 0.45;       // of trust: three sigma below its mean, as long as the load is what it was
constexpr int32_t kScarceBlocks = 2;  // free ones for each sequence and group of layers

double mean_trust(std::span<const SequenceLoad> sequences, const LengthBook& lengths) {
  double sum = 0;
  for (const SequenceLoad& sequence : sequences) sum += lengths.at(sequence.lengths).trust();
  return sum / static_cast<double>(sequences.size());
}

}  // namespace

void RowThrottle::update(std::span<const SequenceLoad> sequences, const LengthBook& lengths, const Blocks& blocks) {
  if (sequences.empty()) return clear();
  const int64_t scarce = int64_t{kScarceBlocks} * blocks.growth.groups() * static_cast<int64_t>(sequences.size());
  const bool is_scarce = blocks.free < scarce;
  const bool is_alarmed = is_active() || (is_scarce && mean_trust(sequences, lengths) < kDoubt);
  if (!is_alarmed || peak_.of(sequences, blocks.growth) <= blocks.capacity) return clear();
  choose(sequences, blocks);
}

void RowThrottle::choose(std::span<const SequenceLoad> sequences, const Blocks& blocks) {
  order_.resize(sequences.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto need = [&](int32_t index) { return sequences[static_cast<size_t>(index)].need(); };
  // Not stable_sort, which allocates.
  std::sort(order_.begin(), order_.end(),
            [&](int32_t a, int32_t b) { return std::pair(need(a), a) < std::pair(need(b), b); });
  // A slow one with less than half a block of places left will want its next blocks before long.
  const auto wanted_soon = [&](int32_t index) {
    const SequenceLoad& sequence = sequences[static_cast<size_t>(index)];
    const int64_t table = blocks.growth.blocks_for(int64_t{sequence.tokens} + blocks.growth.block_size / 2);
    return std::clamp<int64_t>(table - sequence.table, 0, sequence.need());
  };
  int64_t wanted = 0;
  for (const int32_t index : order_) wanted += wanted_soon(index);
  slow_.assign(sequences.size(), true);
  int64_t room = blocks.free;
  bool is_first = true;
  for (const int32_t index : order_) {
    wanted -= wanted_soon(index);
    if (!is_first && room - need(index) < wanted) return;
    is_first = false;
    room -= need(index);
    slow_[static_cast<size_t>(index)] = false;
  }
}

}  // namespace sluice::scheduler
