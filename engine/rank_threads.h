#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace sluice::engine {

/// A thread for each rank but the first, whose work the caller does itself. Between pieces of work they sleep. One
/// caller thread.
class RankThreads {
 public:
  explicit RankThreads(int32_t rank_count);
  ~RankThreads();
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;

  int32_t rank_count() const { return static_cast<int32_t>(threads_.size()) + 1; }

  /// Calls body(rank) for every rank on its thread, all at the same time, and returns when all have returned.
  void run(const std::function<void(int32_t rank)>& body);

 private:
  void serve(int32_t rank);

  Mutex mutex_;
  CondVar changed_;
  const std::function<void(int32_t rank)>* body_ SLUICE_GUARDED_BY(mutex_) = nullptr;
  int64_t started_ SLUICE_GUARDED_BY(mutex_) = 0;  // calls of run()
  int32_t running_ SLUICE_GUARDED_BY(mutex_) = 0;  // threads that haven't returned from the last one
  bool is_stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::engine
