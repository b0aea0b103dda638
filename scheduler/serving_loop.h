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
/// A failed step fails every request with INTERNAL. The loop goes on: a later request gets its own try.
class ServingLoop {
 public:
  /// Everything is lent and must outlive the loop. The scheduler is fresh.
  ServingLoop(Scheduler& scheduler, engine::Executor& executor, Mailbox& mailbox, EventSink& sink, const Clock& clock,
              LoopStats& stats);

  /// Ticks until the mailbox is closed and every request has ended.
  void run();

  /// One turn: commands, plan, step, commit. Statistics and the mailbox's room are right before the events are
  /// delivered, so whoever has seen an event sees its effect.
  void tick();

 private:
  void handle_commands();
  void step(const StepPlan& plan, Duration predicted);
  Result<engine::StepOutput> execute(const StepPlan& plan, Duration predicted);
  void publish();
  void publish(const SchedulerConfig& limits);
  void publish(const SchedulerTotals& totals);
  void publish(const StepPrices& prices);
  void publish_step(const StepPlan& plan, Duration predicted);
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
  uint64_t refused_published_ = 0;
};

}  // namespace sluice::scheduler
