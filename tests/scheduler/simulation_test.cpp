#include "tests/scheduler/simulation.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

constexpr uint64_t kSeedCount = 10'000;

volatile std::sig_atomic_t running_seed = -1;  // a broken invariant aborts, and only a handler can still tell the seed

void tell_seed(int) {
  std::fprintf(stderr, "run just this seed: SLUICE_SIM_SEED=%d scheduler_tests --gtest_filter='*RandomSimulation.*'\n",
               static_cast<int>(running_seed));
}

uint64_t number_from_environment(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

class RandomSimulation : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { previous_ = std::signal(SIGABRT, tell_seed); }
  void TearDown() override { std::signal(SIGABRT, previous_); }

  void run(uint64_t seed) {
    running_seed = static_cast<std::sig_atomic_t>(seed);
    Simulation simulation(seed, GetParam() == "changing" ? std::nullopt : std::optional(GetParam()));
    simulation.run();
    pauses_ += simulation.totals().pauses;
    cached_tokens_ += simulation.totals().cached_tokens;
    if (HasFailure()) tell_seed(SIGABRT);
  }

  uint64_t pauses_ = 0;
  uint64_t cached_tokens_ = 0;

 private:
  void (*previous_)(int) = SIG_DFL;
};

// SLUICE_SIM_SEEDS runs more of them, or fewer.
TEST_P(RandomSimulation, KeepsEveryPromiseUnderRandomWorkloads) {
  if (std::getenv("SLUICE_SIM_SEED") != nullptr) return run(number_from_environment("SLUICE_SIM_SEED", 0));
  const uint64_t count = number_from_environment("SLUICE_SIM_SEEDS", kSeedCount);
  for (uint64_t seed = 0; seed < count && !HasFailure(); ++seed) run(seed);
  if (count < kSeedCount) return;
  EXPECT_GT(cached_tokens_, 1000U) << "the workloads share hardly anything";
  EXPECT_EQ(pauses_ > 0, GetParam() != "reserve") << "the workloads meet no shortage";
}

INSTANTIATE_TEST_SUITE_P(Policies, RandomSimulation, ::testing::Values("reserve", "plan", "adaptive", "changing"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace sluice::scheduler
