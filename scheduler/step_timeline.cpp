#include "scheduler/step_timeline.h"

#include <algorithm>

namespace sluice::scheduler {

// Words are stored with release and loaded with acquire, which costs nothing on x86, instead of fences, which
// ThreadSanitizer doesn't know. A reader who sees any word of a later entry then also sees the zero that was stored
// before it, or a number after that: the second look at the number tells.
void StepTimeline::append(const StepEntry& entry) {
  const uint64_t number = last_.load(std::memory_order_relaxed) + 1;
  Place& place = places_[number % kEntries];
  place.number.store(0, std::memory_order_relaxed);
  const Words words = words_of(entry);
  for (size_t i = 0; i < kWords; ++i) place.words[i].store(words[i], std::memory_order_release);
  place.number.store(number, std::memory_order_release);
  last_.store(number, std::memory_order_release);
}

std::vector<StepEntry> StepTimeline::since(uint64_t number, size_t entries_max) const {
  const uint64_t last = last_number();
  const auto count_max = static_cast<uint64_t>(std::min(entries_max, kEntries));
  std::vector<StepEntry> entries;
  if (number >= last) return entries;
  const uint64_t count = std::min(last - number, count_max);
  entries.reserve(count);
  for (uint64_t next = last - count + 1; next <= last; ++next) {
    if (StepEntry entry; read(next, entry)) entries.push_back(entry);
  }
  return entries;
}

bool StepTimeline::read(uint64_t number, StepEntry& entry) const {
  const Place& place = places_[number % kEntries];
  if (place.number.load(std::memory_order_acquire) != number) return false;
  Words words{};
  for (size_t i = 0; i < kWords; ++i) words[i] = place.words[i].load(std::memory_order_acquire);
  if (place.number.load(std::memory_order_relaxed) != number) return false;
  entry = entry_of(number, words);
  return true;
}

StepTimeline::Words StepTimeline::words_of(const StepEntry& entry) {
  return {entry.ended.time_since_epoch().count(),
          entry.took.count(),
          entry.predicted.count(),
          entry.decode_rows,
          entry.prefill_tokens,
          entry.running,
          entry.waiting,
          entry.blocks_used,
          entry.blocks_reserved,
          entry.blocks_cached};
}

StepEntry StepTimeline::entry_of(uint64_t number, const Words& words) {
  const auto count = [&](size_t word) { return static_cast<int32_t>(words[word]); };
  return {.number = number,
          .ended = TimePoint(Duration(words[0])),
          .took = Duration(words[1]),
          .predicted = Duration(words[2]),
          .decode_rows = count(3),
          .prefill_tokens = count(4),
          .running = count(5),
          .waiting = count(6),
          .blocks_used = count(7),
          .blocks_reserved = count(8),
          .blocks_cached = count(9)};
}

}  // namespace sluice::scheduler
