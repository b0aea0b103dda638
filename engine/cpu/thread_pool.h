#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "engine/cpu/core_time.h"
#include "engine/cpu/crowding.h"
#include "engine/cpu/gate.h"
#include "engine/cpu/thread_counters.h"

namespace sluice::engine {

/// Threads that enter a parallel region together; the caller is worker 0. Given a clock, the pool leaves threads out
/// while other processes have their cores (engine/cpu/crowding.h). Between regions threads spin for some microseconds
/// and then sleep, so an idle pool costs nothing. One caller thread; regions don't nest.
class ThreadPool {
 public:
  static constexpr int32_t kPhasesMax = 6;

  /// Items [begin, end).
  struct ItemRange {
    int32_t begin;
    int32_t end;
  };

  /// One worker's view of the region it is in.
  class Worker {
   public:
    Worker(ThreadPool* pool, int32_t index) : pool_(pool), index_(index) {}

    /// In [0, thread_count()).
    int32_t index() const { return index_; }
    /// Threads in this region.
    int32_t thread_count() const { return pool_->active_; }

    /// The part of [0, count) that for_each gives to this worker first.
    ItemRange share_of(int32_t count) const { return share_of(index_, count); }

    /// Calls body(i) for those i in [0, count) that this worker claims, `grain` neighbours at a time: those of its own
    /// share one after the other, then what the others have left of theirs. Every worker must come by; a thread the
    /// operating system holds up loses one claim, not its share. At most kPhasesMax loops in a region.
    template <typename Body>
    void for_each(int32_t count, int32_t grain, const Body& body) {
      const int32_t phase = phase_++;
      for (int32_t turn = 0; turn < thread_count(); ++turn) {
        const int32_t owner = (index_ + turn) % thread_count();
        const ItemRange share = share_of(owner, count);
        std::atomic<int32_t>& claimed = pool_->claimed(phase, owner);
        const auto claim = [&] { return share.begin + claimed.fetch_add(grain, std::memory_order_relaxed); };
        for (int32_t begin = claim(); begin < share.end; begin = claim()) {
          const int32_t end = std::min(begin + grain, share.end);
          for (int32_t i = begin; i < end; ++i) body(i);
        }
      }
    }

    /// Loops so far.
    int32_t phase_count() const { return phase_; }

    /// Returns when every worker of the region has come here; what they wrote before is visible after.
    void barrier() { pool_->wait_for_all(index_); }

   private:
    // Rounded up: the caller, who is there first, has the odd one.
    ItemRange share_of(int32_t index, int32_t count) const {
      const int64_t threads = thread_count();
      return {static_cast<int32_t>((int64_t{count} * index + threads - 1) / threads),
              static_cast<int32_t>((int64_t{count} * (index + 1) + threads - 1) / threads)};
    }

    ThreadPool* pool_;
    int32_t index_;
    int32_t phase_ = 0;
  };

  /// `threads` >= 1, the caller included. `clock` is lent and outlives the pool; without one, every thread takes part
  /// in every region. `core_time` tells each thread its own.
  explicit ThreadPool(int32_t threads, const Clock* clock = nullptr,
                      std::function<CoreTime()> core_time = own_core_time);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The most that take part in a region.
  int32_t thread_count() const { return thread_count_; }
  /// For the caller, and for workers in a region.
  ThreadCounters counters() const;

  /// Runs body(Worker&) on every thread that takes part and returns when all have finished.
  template <typename Body>
  void run(const Body& body) {
    region_ = [](const void* context, Worker& worker) { (*static_cast<const Body*>(context))(worker); };
    context_ = &body;
    run_region();
  }

 private:
  using Region = void (*)(const void* context, Worker& worker);
  /// How many items of one worker's share have been claimed.
  struct alignas(64) Claims {
    std::atomic<int32_t> count = 0;
  };

  std::atomic<int32_t>& claimed(int32_t phase, int32_t owner) {
    SLUICE_CHECK(phase < kPhasesMax);
    return claims_[static_cast<size_t>(phase * thread_count_ + owner)].count;
  }
  void forget_claims(int32_t phases);

  void run_region();
  void note_window();
  void serve(int32_t index);
  int32_t work(int32_t index);
  void wait_for_all(int32_t index);
  void await(uint32_t seen);
  void await_timed(uint32_t seen);

  const int32_t thread_count_;
  const Clock* const clock_;
  const std::function<CoreTime()> own_core_time_;
  Crowding crowding_;
  // Written by the caller between regions, for those whose gate it opens next.
  Region region_ = nullptr;
  const void* context_ = nullptr;
  int32_t active_ = 0;
  bool stopping_ = false;
  bool ends_window_ = false;
  int64_t regions_ = 0;
  TimePoint window_began_{};
  std::vector<Claims> claims_;  // [kPhasesMax, thread_count]; all 0 between regions
  std::vector<Gate> begun_;     // [thread_count], opened for each region that the worker takes part in
  alignas(64) std::atomic<int32_t> arrived_ = 0;
  Gate all_came_;
  std::atomic<int64_t> sleeps_ = 0;
  Duration waited_{};                        // of the caller
  std::vector<CoreTime> core_times_;         // [thread_count], written by each thread at the end of a window
  std::vector<CoreTime> core_times_before_;  // [thread_count], at the end of the window before
  std::vector<std::thread> threads_;
};

}  // namespace sluice::engine
