#include "base/signal_watcher.h"

#include <csignal>
#include <future>

#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice {
namespace {

bool is_blocked(int number) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, number) == 1;
}

TEST(SignalWatcher, TurnsBothStopSignalsIntoCalls) {
  for (const int number : {SIGINT, SIGTERM}) {
    std::promise<int> told;
    const SignalWatcher watcher([&told](int received) { told.set_value(received); });
    ASSERT_EQ(kill(getpid(), number), 0);
    EXPECT_EQ(told.get_future().get(), number);
  }
}

TEST(SignalWatcher, LeavesTheSignalsAsItFoundThem) {
  ASSERT_FALSE(is_blocked(SIGINT));
  {
    const SignalWatcher watcher([](int) {});
    EXPECT_TRUE(is_blocked(SIGINT));
    EXPECT_TRUE(is_blocked(SIGTERM));
  }
  EXPECT_FALSE(is_blocked(SIGINT));
  EXPECT_FALSE(is_blocked(SIGTERM));
}

}  // namespace
}  // namespace sluice
