#include "engine/cpu/thread_pool.h"

namespace sluice::engine {

ThreadPool::ThreadPool(int32_t threads) : thread_count_(threads) {
  SLUICE_CHECK(threads >= 1);
  for (int32_t index = 1; index < threads; ++index) {
    threads_.emplace_back([this, index] { serve(index); });
  }
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  regions_begun_.fetch_add(1);
  regions_begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run_region() {
  for (Claims& claims : claims_) claims.next.store(0, std::memory_order_relaxed);
  if (thread_count_ > 1) {
    // Sequentially consistent, as notify_all must not look for sleepers before the new value is out.
    regions_begun_.fetch_add(1);
    regions_begun_.notify_all();
  }
  Worker worker(this, 0);
  region_(context_, worker);
  wait_for_all();
}

void ThreadPool::serve(int32_t index) {
  uint32_t seen = 0;
  while (true) {
    wait_while(regions_begun_, seen);
    ++seen;
    if (stopping_) return;
    Worker worker(this, index);
    region_(context_, worker);
    wait_for_all();
  }
}

void ThreadPool::wait_for_all() {
  if (thread_count_ == 1) return;
  const uint32_t passed = barriers_passed_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == thread_count_) {
    arrived_.store(0, std::memory_order_relaxed);
    barriers_passed_.fetch_add(1);
    barriers_passed_.notify_all();
  } else {
    wait_while(barriers_passed_, passed);
  }
}

// Hand-overs inside a step take well under a microsecond; a wait that outlasts some microseconds means that another
// process has our core or that there is nothing to do, and spinning on would take the core from whoever we wait for.
void ThreadPool::wait_while(const std::atomic<uint32_t>& value, uint32_t old) {
  constexpr int kSpins = 400;
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    __builtin_ia32_pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace sluice::engine
