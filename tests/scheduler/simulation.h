#pragma once

#include <cstdint>
#include <random>

#include "base/clock.h"
#include "engine/batch.h"
#include "kvcache/block_pool.h"
#include "scheduler/scheduler.h"
#include "tests/scheduler/event_checker.h"
#include "tests/scheduler/fake_executor.h"
#include "tests/scheduler/plan_checker.h"

namespace sluice::scheduler {

/// The real scheduler, batch builder and block pool under a simulated clock and the fake model, with a random
/// configuration and a random workload: everything follows from the seed. Failures are reported to GoogleTest.
class Simulation {
 public:
  explicit Simulation(uint64_t seed);

  /// Ticks through the whole workload and checks every tick.
  void run();

 private:
  int32_t draw(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(random_); }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }

  SchedulerConfig draw_config();
  Submission draw_submission();
  void submit();
  void cancel();
  void disturb();
  void check_events(bool step_has_prefill);
  void tick();
  void step(const StepPlan& plan);
  void check_end() const;

  std::mt19937_64 random_;
  const int32_t vocab_size_;
  const double busyness_;  // how likely a tick brings requests
  ManualClock clock_;
  kvcache::BlockPool pool_;
  Scheduler scheduler_;
  FakeExecutor executor_;
  engine::Batch batch_;
  Records records_;
  PlanChecker plan_checker_;
  EventChecker event_checker_;
  uint64_t next_id_ = 1;
  int64_t ticks_allowed_ = 0;  // every tick computes a token of some request
};

}  // namespace sluice::scheduler
