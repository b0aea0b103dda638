#include "tests/scheduler/simulation.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

constexpr uint64_t kSeedCount = 4000;

volatile std::sig_atomic_t running_seed = -1;  // a broken invariant aborts, and only a handler can still tell the seed

void tell_seed(int) {
  std::fprintf(stderr, "run just this seed: SLUICE_SIM_SEED=%d scheduler_tests --gtest_filter='RandomSimulation.*'\n",
               static_cast<int>(running_seed));
}

class RandomSimulation : public ::testing::Test {
 protected:
  void SetUp() override { previous_ = std::signal(SIGABRT, tell_seed); }
  void TearDown() override { std::signal(SIGABRT, previous_); }

  void run(uint64_t seed) {
    running_seed = static_cast<std::sig_atomic_t>(seed);
    Simulation(seed).run();
    if (HasFailure()) tell_seed(SIGABRT);
  }

 private:
  void (*previous_)(int) = SIG_DFL;
};

TEST_F(RandomSimulation, KeepsEveryPromiseUnderRandomWorkloads) {
  if (const char* seed = std::getenv("SLUICE_SIM_SEED")) return run(std::strtoull(seed, nullptr, 10));
  for (uint64_t seed = 0; seed < kSeedCount && !HasFailure(); ++seed) run(seed);
}

}  // namespace
}  // namespace sluice::scheduler
