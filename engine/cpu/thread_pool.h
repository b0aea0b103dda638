#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/check.h"

namespace sluice::engine {

/// A fixed set of threads that enter a parallel region together; the caller is worker 0. Between regions they spin for
/// some microseconds and then sleep, so an idle pool costs nothing. One caller thread; regions don't nest.
class ThreadPool {
 public:
  static constexpr int32_t kPhasesMax = 6;

  /// One worker's view of the region it is in.
  class Worker {
   public:
    Worker(ThreadPool* pool, int32_t index) : pool_(pool), index_(index) {}

    int32_t index() const { return index_; }
    int32_t thread_count() const { return pool_->thread_count(); }

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

    /// Returns when every worker has come here; what they wrote before is visible after.
    void barrier() { pool_->wait_for_all(); }

   private:
    ThreadPool* pool_;
    int32_t index_;
    int32_t phase_ = 0;
  };

  /// `threads` >= 1, the caller included.
  explicit ThreadPool(int32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int32_t thread_count() const { return thread_count_; }

  /// Runs body(Worker&) on every thread and returns when all have finished.
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
  void serve(int32_t index);
  void wait_for_all();
  static void wait_while(const std::atomic<uint32_t>& value, uint32_t old);

  const int32_t thread_count_;
  Region region_ = nullptr;  // written by the caller between regions
  const void* context_ = nullptr;
  bool stopping_ = false;
  std::array<Claims, kPhasesMax> claims_;
  alignas(64) std::atomic<uint32_t> regions_begun_ = 0;
  alignas(64) std::atomic<int32_t> arrived_ = 0;
  alignas(64) std::atomic<uint32_t> barriers_passed_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::engine
