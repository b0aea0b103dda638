#pragma once

#include <csignal>
#include <functional>
#include <thread>

namespace sluice {

/// Turns SIGINT, SIGTERM and SIGHUP into a call on an ordinary thread, where locks and allocation are allowed, while it
/// lives.
///
/// The signals are blocked in the thread that constructs it and in those that it starts afterwards: construct it
/// before any other thread.
class SignalWatcher {
 public:
  /// `on_signal` is given the signal's number, once per signal, on the watcher's thread.
  explicit SignalWatcher(std::function<void(int)> on_signal);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  void watch();

  const std::function<void(int)> on_signal_;
  sigset_t blocked_before_;
  int signals_;  // signalfd
  int stop_;     // eventfd: the destructor's word to the thread
  std::thread thread_;
};

}  // namespace sluice
