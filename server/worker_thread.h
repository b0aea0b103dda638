#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace sluice::server {

/// A thread that does one piece of work after the other, in the order in which they came. Thread-safe. Who posts sees
/// to it that not too much waits.
class WorkerThread {
 public:
  WorkerThread();
  /// Finishes what it is at; what still waits is dropped.
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  void post(std::function<void()> work);

 private:
  void run();

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> waiting_ SLUICE_GUARDED_BY(mutex_);
  bool is_stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sluice::server
