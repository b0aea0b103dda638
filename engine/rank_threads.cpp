#include "engine/rank_threads.h"

#include "base/check.h"

namespace sluice::engine {

RankThreads::RankThreads(int32_t rank_count) {
  SLUICE_CHECK(rank_count >= 1);
  for (int32_t rank = 1; rank < rank_count; ++rank) {
    threads_.emplace_back([this, rank] { serve(rank); });
  }
}

RankThreads::~RankThreads() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RankThreads::run(const std::function<void(int32_t rank)>& body) {
  {
    const MutexLock lock(mutex_);
    body_ = &body;
    ++started_;
    running_ = rank_count() - 1;
  }
  changed_.notify_all();
  body(0);
  const MutexLock lock(mutex_);
  while (running_ > 0) changed_.wait(mutex_);
}

void RankThreads::serve(int32_t rank) {
  for (int64_t done = 0;; ++done) {
    const std::function<void(int32_t)>* body = nullptr;
    {
      const MutexLock lock(mutex_);
      while (started_ == done && !is_stopping_) changed_.wait(mutex_);
      if (is_stopping_) return;
      body = body_;
    }
    (*body)(rank);
    const MutexLock lock(mutex_);
    if (--running_ == 0) changed_.notify_all();
  }
}

}  // namespace sluice::engine
