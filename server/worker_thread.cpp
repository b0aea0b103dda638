#include "server/worker_thread.h"

#include <utility>

namespace sluice::server {

WorkerThread::WorkerThread() : thread_([this] { run(); }) {}

WorkerThread::~WorkerThread() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

void WorkerThread::post(std::function<void()> work) {
  const MutexLock lock(mutex_);
  waiting_.push_back(std::move(work));
  changed_.notify_one();
}

void WorkerThread::run() {
  while (true) {
    std::function<void()> work;
    {
      const MutexLock lock(mutex_);
      while (waiting_.empty() && !is_stopping_) changed_.wait(mutex_);
      if (is_stopping_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace sluice::server
