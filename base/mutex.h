#pragma once

#include <condition_variable>
#include <mutex>

// Clang checks these annotations (clang-tidy's clang-diagnostic-thread-safety); g++ does not know them.
#if defined(__clang__)
#define SLUICE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define SLUICE_THREAD_ATTRIBUTE(x)
#endif

#define SLUICE_GUARDED_BY(mutex) SLUICE_THREAD_ATTRIBUTE(guarded_by(mutex))
#define SLUICE_REQUIRES(mutex) SLUICE_THREAD_ATTRIBUTE(requires_capability(mutex))

namespace sluice {

/// std::mutex that the thread-safety analysis understands.
class SLUICE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() SLUICE_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() SLUICE_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class SLUICE_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SLUICE_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() SLUICE_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// A condition to wait for while a Mutex is held; wakes may be spurious, so wait in a loop on the condition itself.
class CondVar {
 public:
  void wait(Mutex& mutex) SLUICE_REQUIRES(mutex) { cv_.wait(mutex); }
  template <typename ClockTimePoint>
  std::cv_status wait_until(Mutex& mutex, const ClockTimePoint& deadline) SLUICE_REQUIRES(mutex) {
    return cv_.wait_until(mutex, deadline);
  }
  void notify_one() { cv_.notify_one(); }
  void notify_all() { cv_.notify_all(); }

 private:
  std::condition_variable_any cv_;
};

}  // namespace sluice
