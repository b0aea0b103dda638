#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include <pthread.h>

namespace sluice::server {

/// Keeps SIGTERM and SIGINT pending for a SignalThread. Called first thing in main: threads inherit it, and a signal
/// that came earlier is not lost. Also ignores SIGPIPE: a closed stdout or socket is an error value, not the end.
void block_signals();

/// Takes SIGTERM and SIGINT as ordinary calls on a thread of its own, so no code runs in a signal handler.
class SignalThread {
 public:
  /// `on_signal` is told how many there were, this one included. block_signals() was called before any thread began.
  explicit SignalThread(std::function<void(int32_t count)> on_signal);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  void run();

  const std::function<void(int32_t)> on_signal_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace sluice::server
