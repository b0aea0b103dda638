#include "engine/cpu/thread_pool.h"

#include <utility>

namespace sluice::engine {

ThreadPool::ThreadPool(int32_t threads, const Clock* clock, std::function<CoreTime()> core_time)
    : thread_count_(threads),
      clock_(threads > 1 ? clock : nullptr),
      own_core_time_(std::move(core_time)),
      crowding_(threads),
      active_(threads),
      claims_(static_cast<size_t>(kPhasesMax * threads)),
      begun_(static_cast<size_t>(threads)),
      core_times_(static_cast<size_t>(threads)),
      core_times_before_(static_cast<size_t>(threads)) {
  SLUICE_CHECK(threads >= 1);
  for (int32_t index = 1; index < threads; ++index) {
    threads_.emplace_back([this, index] { serve(index); });
  }
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  for (Gate& gate : begun_) gate.open();
  for (std::thread& thread : threads_) thread.join();
}

ThreadCounters ThreadPool::counters() const {
  return {.regions = regions_,
          .barriers = all_came_.count(),
          .sleeps = sleeps_.load(std::memory_order_relaxed),
          .active = crowding_.active(),
          .waited = waited_};
}

void ThreadPool::run_region() {
  ++regions_;
  const TimePoint now = clock_ == nullptr ? TimePoint() : clock_->now();
  ends_window_ = now - window_began_ >= Crowding::kWindow;
  for (int32_t index = 1; index < active_; ++index) begun_[static_cast<size_t>(index)].open();
  forget_claims(work(0));
  if (!ends_window_) return;
  window_began_ = now;
  note_window();
}

// Few, as some machines have many threads.
void ThreadPool::forget_claims(int32_t phases) {
  for (int32_t phase = 0; phase < phases; ++phase) {
    for (int32_t owner = 0; owner < active_; ++owner) claimed(phase, owner).store(0, std::memory_order_relaxed);
  }
}

void ThreadPool::note_window() {
  double missing = 0;
  for (size_t index = 0; index < static_cast<size_t>(active_); ++index) {
    missing += (core_times_[index] - core_times_before_[index]).lacked_share();
  }
  // Another caller than before has another account, which may be behind.
  const Duration time = std::max((core_times_[0] - core_times_before_[0]).total(), Duration::zero());
  core_times_before_ = core_times_;
  crowding_.note(time, missing);
  active_ = crowding_.active();
}

void ThreadPool::serve(int32_t index) {
  Gate& begun = begun_[static_cast<size_t>(index)];
  for (uint32_t seen = 0;; ++seen) {
    if (!begun.opens_soon(seen)) begun.sleep(seen);
    if (stopping_) return;
    work(index);
  }
}

// Returns how many loops the region had, which is the same for all workers.
int32_t ThreadPool::work(int32_t index) {
  Worker worker(this, index);
  region_(context_, worker);
  if (ends_window_) core_times_[static_cast<size_t>(index)] = own_core_time_();
  wait_for_all(index);
  return worker.phase_count();
}

void ThreadPool::wait_for_all(int32_t index) {
  const int32_t active = active_;  // read before the caller may begin another region
  if (active == 1) return;
  const uint32_t seen = all_came_.count();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == active) {
    arrived_.store(0, std::memory_order_relaxed);
    all_came_.open();
  } else if (index == 0 && clock_ != nullptr) {
    await_timed(seen);
  } else {
    await(seen);
  }
}

void ThreadPool::await(uint32_t seen) {
  if (all_came_.opens_soon(seen)) return;
  ++sleeps_;
  all_came_.sleep(seen);
}

// Read while there is nothing else to do.
void ThreadPool::await_timed(uint32_t seen) {
  const TimePoint began = clock_->now();
  await(seen);
  waited_ += clock_->now() - began;
}

}  // namespace sluice::engine
