#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace sluice::scheduler {

/// What one step did, and how things stood right after it.
struct StepEntry {
  uint64_t number = 0;   ///< steps are numbered from 1
  TimePoint ended{};     ///< when its results were committed
  Duration took{};       ///< in the engine
  Duration predicted{};  ///< by the step-time model, beforehand; zero as long as it knows nothing
  int32_t decode_rows = 0;
  int32_t prefill_tokens = 0;
  int32_t running = 0;  ///< as LoopStats has them, this and all that follow
  int32_t waiting = 0;
  int32_t blocks_used = 0;
  int32_t blocks_reserved = 0;
  int32_t blocks_cached = 0;
};

/// The last steps, in a ring that is never grown. One thread appends, without a lock, an allocation or ever waiting;
/// any thread reads at any time. Each place of the ring is a sequence lock: a reader who meets the writer there, or who
/// finds that a newer step has taken the place, leaves the entry out instead of handing out a torn one.
class StepTimeline {
 public:
  static constexpr size_t kEntries = 1024;

  /// The writer's: `entry.number` is ignored, the entry gets the next one.
  void append(const StepEntry& entry);

  /// The number of the newest entry; 0 before the first.
  uint64_t last_number() const { return last_.load(std::memory_order_acquire); }
  /// The entries after `number` that are still there, oldest first; of more than `entries_max`, the newest ones.
  std::vector<StepEntry> since(uint64_t number, size_t entries_max = kEntries) const;

 private:
  static constexpr size_t kWords = 10;
  using Words = std::array<int64_t, kWords>;

  struct Place {
    std::atomic<uint64_t> number{0};  ///< of the entry; 0 while it is written
    std::array<std::atomic<int64_t>, kWords> words{};
  };

  static Words words_of(const StepEntry& entry);
  static StepEntry entry_of(uint64_t number, const Words& words);
  bool read(uint64_t number, StepEntry& entry) const;

  std::array<Place, kEntries> places_;
  std::atomic<uint64_t> last_{0};
};

}  // namespace sluice::scheduler
