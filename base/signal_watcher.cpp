#include "base/signal_watcher.h"

#include <array>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"

namespace sluice {
namespace {

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

SignalWatcher::SignalWatcher(std::function<void(int)> on_signal) : on_signal_(std::move(on_signal)) {
  const sigset_t watched = watched_signals();
  SLUICE_CHECK(pthread_sigmask(SIG_BLOCK, &watched, &blocked_before_) == 0);
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC);
  stop_ = eventfd(0, EFD_CLOEXEC);
  SLUICE_CHECK(signals_ >= 0 && stop_ >= 0);
  thread_ = std::thread([this] { watch(); });
}

SignalWatcher::~SignalWatcher() {
  const uint64_t one = 1;
  SLUICE_CHECK(write(stop_, &one, sizeof(one)) == sizeof(one));
  thread_.join();
  close(signals_);
  close(stop_);
  pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
}

void SignalWatcher::watch() {
  std::array<pollfd, 2> watched{pollfd{.fd = signals_, .events = POLLIN, .revents = 0},
                                pollfd{.fd = stop_, .events = POLLIN, .revents = 0}};
  while (true) {
    if (poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[1].revents != 0) return;
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof(info)) == sizeof(info)) on_signal_(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace sluice
