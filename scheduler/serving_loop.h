#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "engine/batch.h"
#include "engine/executor.h"
#include "scheduler/command.h"
#include "scheduler/loop_stats.h"
#include "scheduler/mailbox.h"
#include "scheduler/scheduler.h"
#include "scheduler/token_event.h"

namespace sluice::scheduler {

/// Turns commands into steps and events, on one thread that owns all serving state. It waits in one place: on an empty
/// mailbox, when no request is alive. A request that waits is never alone with nothing running (Scheduler::plan), so no
/// deadline is slept through.
///
/// Where the executor lets it (Executor::steps_ahead), it plans and launches a step while the one before it is still
/// computed, then collects that one and hands out its events: the device has its next step when it is done with the
/// last, and finds no gap in which somebody plans. Where a row can't do without a token's value (Scheduler::may_plan),
/// the step is collected first.
///
/// A step's time is what the device took for it: from its launch, or from the end of the step before it if that came
/// later, to its end as the loop sees it.
///
/// A failed step fails every request with INTERNAL, and LoopStats tells of it. The loop goes on: a later request gets
/// its own try, also when many steps have failed in a row, for only so a backend that is well again shows itself.
class ServingLoop {
 public:
  /// Everything is lent and must outlive the loop. The scheduler is fresh.
  ServingLoop(Scheduler& scheduler, engine::Executor& executor, Mailbox& mailbox, EventSink& sink, const Clock& clock,
              LoopStats& stats);

  /// Ticks until the mailbox is closed, every request has ended and every step is collected.
  void run();

  /// One turn: commands, then a step is planned and launched, then the oldest one is collected and committed, unless it
  /// is the only one and another may be launched before. Statistics and the mailbox's room are right before the events
  /// are delivered, so whoever has seen an event sees its effect; only blocks that a step under way still writes to
  /// count as used until it is collected.
  void tick();

 private:
  /// A step that was launched and not collected.
  struct Launched {
    const StepPlan* plan = nullptr;
    Duration predicted{};
    TimePoint began{};
  };

  void handle_commands();
  /// Plans and launches the next step, if there is anything to compute that can be launched now. Whether it did.
  bool launch_next();
  void launch(const StepPlan& plan);
  bool may_launch_another() const;
  void collect_oldest();
  Result<engine::StepOutput> await(const Launched& step);
  void fail(const Status& status);
  void publish();
  void publish(const SchedulerConfig& limits);
  void publish(const SchedulerTotals& totals);
  void publish(const StepPrices& prices);
  void publish_step(const Launched& step);
  void hand_over();

  Scheduler& scheduler_;
  engine::Executor& executor_;
  Mailbox& mailbox_;
  EventSink& sink_;
  const Clock& clock_;
  LoopStats& stats_;
  const engine::StepCosts costs_;

  std::vector<Command> commands_;
  engine::Batch batch_;
  std::vector<Launched> launched_;  // oldest first, at most 1 + steps_ahead
  uint64_t refused_published_ = 0;
};

}  // namespace sluice::scheduler
