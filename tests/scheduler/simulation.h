#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/batch.h"
#include "kvcache/block_key.h"
#include "kvcache/shared_block_pool.h"
#include "scheduler/scheduler.h"
#include "tests/scheduler/event_checker.h"
#include "tests/scheduler/fake_executor.h"
#include "tests/scheduler/plan_checker.h"

namespace sluice::scheduler {

/// The real scheduler, batch builder, block pool and prefix index under a simulated clock and the fake model, with a
/// random configuration and a random workload: everything follows from the seed and the groups. Failures are reported
/// to GoogleTest.
class Simulation {
 public:
  /// Of the fake model's layers.
  struct Groups {
    int32_t full = 1;
    int32_t windowed = 0;
  };

  /// `policy`: "reserve", "plan" or "adaptive", or nothing for changes between them on the way.
  /// `steps_ahead`: as Executor has it.
  Simulation(uint64_t seed, const std::optional<std::string>& policy, Groups groups, int32_t steps_ahead = 0);

  /// Ticks through the whole workload and checks every tick.
  void run();
  /// What it has done, to tell whether many of them see all there is to see.
  const SchedulerTotals& totals() const { return scheduler_.totals(); }
  /// Sequences that wrote over their own blocks.
  int64_t wrapped_count() const;
  /// Rows that were computed for sequences which had ended.
  int64_t dropped_count() const { return dropped_count_; }
  /// Steps that were planned while another was under way, and those that had to wait for the other's tokens.
  int64_t ahead_count() const { return ahead_count_; }
  int64_t held_up_count() const { return held_up_count_; }

 private:
  /// What kind of load a seed draws.
  struct Load {
    double busyness = 0;  // how likely a tick brings requests
    bool shares = false;  // prompts begin alike and have keys
    bool has_tenants = false;
    bool turns_long = false;  // answers end early in the first half, and at their caps in the second
    bool is_crowded = false;  // much is shared, in a cache that is far too small for what is asked
  };

  int32_t draw(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(random_); }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }

  Load draw_load();
  kvcache::BlockGrowth draw_growth(Groups groups);
  int32_t draw_block_count();
  SchedulerConfig draw_config(const std::optional<std::string>& policy);
  std::string draw_policy();
  std::vector<int32_t> draw_tokens(int32_t count);
  Submission draw_submission();
  void add_keys(Submission& submission);
  void submit();
  void cancel();
  void change_limits();
  void ask();
  void disturb();
  void check_events(bool step_has_prefill);
  void tick();
  bool launch_next();
  bool may_launch_another() const;
  void collect_oldest();
  void check_end();

  std::mt19937_64 random_;
  const bool changes_policy_;
  const int32_t vocab_size_;
  const Load load_;
  const Duration unit_;  // of all times
  const bool reuses_outputs_;
  ManualClock clock_;
  kvcache::BlockHasher hasher_;
  const kvcache::BlockGrowth growth_;
  kvcache::SharedBlockPool pool_;
  Scheduler scheduler_;
  const SchedulerConfig first_limits_;
  FakeExecutor executor_;
  engine::Batch batch_;
  std::deque<const StepPlan*> launched_;  // oldest first
  Records records_;
  PlanChecker plan_checker_;
  EventChecker event_checker_;
  std::vector<std::vector<int32_t>> beginnings_;
  uint64_t next_id_ = 1;
  int32_t tick_ = 0;
  int64_t steps_allowed_ = 0;  // every step computes a token of some request, or a row of one that has ended
  int64_t dropped_count_ = 0;
  int64_t ahead_count_ = 0;
  int64_t held_up_count_ = 0;
};

}  // namespace sluice::scheduler
