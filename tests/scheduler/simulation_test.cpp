#include "tests/scheduler/simulation.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

constexpr uint64_t kSeedCount = 10'000;
constexpr uint64_t kWindowedSeedCount = 2'000;  // for each kind with window groups

volatile std::sig_atomic_t running_seed = -1;  // a broken invariant aborts, and only a handler can still tell the seed

void tell_seed(int) {
  std::fprintf(stderr, "run just this seed: SLUICE_SIM_SEED=%d scheduler_tests --gtest_filter='*RandomSimulation.*'\n",
               static_cast<int>(running_seed));
}

uint64_t number_from_environment(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

struct Kind {
  std::string policy;  // or "changing"
  Simulation::Groups groups;
  int32_t steps_ahead = 0;

  std::string name() const {
    const bool is_plain = groups.full == 1 && groups.windowed == 0;
    const std::string shape = "full" + std::to_string(groups.full) + "windowed" + std::to_string(groups.windowed);
    return policy + (is_plain ? "" : "_" + shape) + (steps_ahead > 0 ? "_ahead" : "");
  }
};

class RandomSimulation : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { previous_ = std::signal(SIGABRT, tell_seed); }
  void TearDown() override { std::signal(SIGABRT, previous_); }

  void run(uint64_t seed) {
    running_seed = static_cast<std::sig_atomic_t>(seed);
    const std::string& policy = GetParam().policy;
    Simulation simulation(seed, policy == "changing" ? std::nullopt : std::optional(policy), GetParam().groups,
                          GetParam().steps_ahead);
    simulation.run();
    pauses_ += simulation.totals().pauses;
    cached_tokens_ += simulation.totals().cached_tokens;
    wrapped_ += simulation.wrapped_count();
    dropped_ += simulation.dropped_count();
    ahead_ += simulation.ahead_count();
    held_up_ += simulation.held_up_count();
    if (HasFailure()) tell_seed(SIGABRT);
  }

  uint64_t pauses_ = 0;
  uint64_t cached_tokens_ = 0;
  int64_t wrapped_ = 0;
  int64_t dropped_ = 0;
  int64_t ahead_ = 0;
  int64_t held_up_ = 0;

 private:
  void (*previous_)(int) = SIG_DFL;
};

// SLUICE_SIM_SEEDS runs more of them, or fewer.
TEST_P(RandomSimulation, KeepsEveryPromiseUnderRandomWorkloads) {
  if (std::getenv("SLUICE_SIM_SEED") != nullptr) return run(number_from_environment("SLUICE_SIM_SEED", 0));
  const uint64_t usual = GetParam().groups.windowed > 0 ? kWindowedSeedCount : kSeedCount;
  const uint64_t count = number_from_environment("SLUICE_SIM_SEEDS", usual);
  for (uint64_t seed = 0; seed < count && !HasFailure(); ++seed) run(seed);
  if (count < usual) return;
  EXPECT_GT(cached_tokens_, 1000U) << "the workloads share hardly anything";
  EXPECT_EQ(pauses_ > 0, GetParam().policy != "reserve") << "the workloads meet no shortage";
  EXPECT_EQ(wrapped_ > 1000, GetParam().groups.windowed > 0) << "the workloads hardly go round in rings";
  for (const int64_t seen : {dropped_, ahead_, held_up_}) {
    EXPECT_EQ(seen > 1000, GetParam().steps_ahead > 0) << "the loop hardly runs ahead: " << seen;
  }
}

std::vector<Kind> kinds_of(const std::vector<Simulation::Groups>& all, int32_t steps_ahead) {
  std::vector<Kind> kinds;
  for (const Simulation::Groups& groups : all) {
    for (const char* policy : {"reserve", "plan", "adaptive", "changing"}) {
      kinds.push_back({policy, groups, steps_ahead});
    }
  }
  return kinds;
}

std::string name_of(const ::testing::TestParamInfo<Kind>& info) {
  return info.param.name();
}

const std::vector<Simulation::Groups> kPlain = {{1, 0}};
const std::vector<Simulation::Groups> kWindowed = {{0, 1}, {1, 2}, {2, 1}};

INSTANTIATE_TEST_SUITE_P(Policies, RandomSimulation, ::testing::ValuesIn(kinds_of(kPlain, 0)), name_of);
INSTANTIATE_TEST_SUITE_P(Windows, RandomSimulation, ::testing::ValuesIn(kinds_of(kWindowed, 0)), name_of);
INSTANTIATE_TEST_SUITE_P(PoliciesAhead, RandomSimulation, ::testing::ValuesIn(kinds_of(kPlain, 1)), name_of);
INSTANTIATE_TEST_SUITE_P(WindowsAhead, RandomSimulation, ::testing::ValuesIn(kinds_of(kWindowed, 1)), name_of);

}  // namespace
}  // namespace sluice::scheduler
