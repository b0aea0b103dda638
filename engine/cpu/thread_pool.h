#pragma once

#include <algorithm>
#include <array>
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

  /// One worker's view of the region it is in.
  class Worker {
   public:
    Worker(ThreadPool* pool, int32_t index) : pool_(pool), index_(index) {}

    /// In [0, thread_count()).
    int32_t index() const { return index_; }
    /// Threads in this region.
    int32_t thread_count() const { return pool_->active_; }

    /// Calls body(i) for those i in [0, count) that this worker claims, `grain` neighbours at a time. Every worker must
    /// come by; a thread the operating system holds up loses one claim, not its share. At most kPhasesMax loops in a
    /// region.
    template <typename Body>
    void for_each(int32_t count, int32_t grain, const Body& body) {
      std::atomic<int32_t>& next = pool_->claims_.at(static_cast<size_t>(phase_++)).next;
      for (int32_t begin = next.fetch_add(grain, std::memory_order_relaxed); begin < count;
           begin = next.fetch_add(grain, std::memory_order_relaxed)) {
        const int32_t end = std::min(begin + grain, count);
        for (int32_t i = begin; i < end; ++i) body(i);
      }
    }

    /// Returns when every worker of the region has come here; what they wrote before is visible after.
    void barrier() { pool_->wait_for_all(index_); }

   private:
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
  struct alignas(64) Claims {
    std::atomic<int32_t> next = 0;
  };

  void run_region();
  void note_window();
  void serve(int32_t index);
  void work(int32_t index);
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
  std::array<Claims, kPhasesMax> claims_;
  std::vector<Gate> begun_;  // [thread_count], opened for each region that the worker takes part in
  alignas(64) std::atomic<int32_t> arrived_ = 0;
  Gate all_came_;
  std::atomic<int64_t> sleeps_ = 0;
  Duration waited_{};                        // of the caller
  std::vector<CoreTime> core_times_;         // [thread_count], written by each thread at the end of a window
  std::vector<CoreTime> core_times_before_;  // [thread_count], at the end of the window before
  std::vector<std::thread> threads_;
};

}  // namespace sluice::engine
