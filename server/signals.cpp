#include "server/signals.h"

#include <csignal>
#include <utility>

#include "base/check.h"

namespace sluice::server {

namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

void block_signals() {
  const sigset_t set = stop_signals();
  SLUICE_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  SLUICE_CHECK(std::signal(SIGPIPE, SIG_IGN) != SIG_ERR);
}

SignalThread::SignalThread(std::function<void(int32_t)> on_signal)
    : on_signal_(std::move(on_signal)), thread_([this] { run(); }) {}

SignalThread::~SignalThread() {
  stopping_.store(true);
  // To this thread alone: it wakes sigwait, and nobody else sees it.
  SLUICE_CHECK(pthread_kill(thread_.native_handle(), SIGTERM) == 0);
  thread_.join();
}

void SignalThread::run() {
  const sigset_t set = stop_signals();
  for (int32_t count = 1;; ++count) {
    int signal_number = 0;
    SLUICE_CHECK(sigwait(&set, &signal_number) == 0);
    if (stopping_.load()) return;
    on_signal_(count);
  }
}

}  // namespace sluice::server
