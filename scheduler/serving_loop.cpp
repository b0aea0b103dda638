#include "scheduler/serving_loop.h"

#include <utility>
#include <variant>

#include "scheduler/batch_builder.h"

namespace sluice::scheduler {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

struct CommandHandler {
  Scheduler& scheduler;
  TimePoint now;

  void operator()(Submission& submission) const { scheduler.submit(std::move(submission), now); }
  void operator()(const Cancel& cancel) const { scheduler.cancel(cancel, now); }
  void operator()(const FailAll& fail_all) const { scheduler.fail_all(fail_all.status, now); }
  void operator()(const SetLimits& change) const { scheduler.set_limits(change.limits); }
  void operator()(const Explain& question) const { scheduler.answer(question); }
};

}  // namespace

ServingLoop::ServingLoop(Scheduler& scheduler, engine::Executor& executor, Mailbox& mailbox, EventSink& sink,
                         const Clock& clock, LoopStats& stats)
    : scheduler_(scheduler),
      executor_(executor),
      mailbox_(mailbox),
      sink_(sink),
      clock_(clock),
      stats_(stats),
      costs_(executor.costs()) {
  publish();
}

void ServingLoop::run() {
  while (scheduler_.has_work() || mailbox_.wait()) tick();
}

void ServingLoop::tick() {
  stats_.tick_began_ns.store(clock_.now().time_since_epoch().count(), kRelaxed);
  handle_commands();
  const StepPlan& plan = scheduler_.plan(clock_.now());
  if (!plan.empty()) {
    // The step may be long: before it, the fronts learn what room the plan has left, and clients that they were taken
    // or refused.
    publish();
    hand_over();
    const Duration predicted = scheduler_.step_time().predict(load_of(plan));
    step(plan, predicted);
    publish();
    publish_step(plan, predicted);
  } else {
    publish();
  }
  hand_over();
  stats_.tick_began_ns.store(0, kRelaxed);
}

void ServingLoop::hand_over() {
  if (std::vector<TokenEvent> events = scheduler_.take_events(); !events.empty()) sink_.deliver(std::move(events));
}

void ServingLoop::handle_commands() {
  mailbox_.take(commands_);
  const CommandHandler handler{scheduler_, clock_.now()};
  for (Command& command : commands_) std::visit(handler, command);
}

void ServingLoop::step(const StepPlan& plan, Duration predicted) {
  build_batch(plan, scheduler_.pool().growth(), batch_);
  stats_.step_prefill_tokens.store(plan.prefill_tokens, kRelaxed);
  Result<engine::StepOutput> output = execute(plan, predicted);
  if (!output.ok()) {
    return scheduler_.fail_all(internal_error("the engine failed: " + output.status().message()), clock_.now());
  }
  scheduler_.commit(plan, std::move(output).value(), clock_.now());
}

Result<engine::StepOutput> ServingLoop::execute(const StepPlan& plan, Duration predicted) {
  const TimePoint began = clock_.now();
  Result<engine::StepOutput> output = executor_.step(batch_);
  const Duration took = clock_.now() - began;
  stats_.last_step_ns.store(static_cast<uint64_t>(took.count()), kRelaxed);
  if (output.ok()) {
    stats_.step.note(plan, static_cast<int64_t>(output->samples.size()), costs_, took, predicted);
  }
  stats_.steps.fetch_add(1, kRelaxed);
  return output;
}

void ServingLoop::publish() {
  const kvcache::SharedBlockCounts blocks = scheduler_.pool().counts();
  stats_.running.store(scheduler_.running_count(), kRelaxed);
  stats_.waiting.store(scheduler_.waiting_count(), kRelaxed);
  stats_.waiting_prompt_tokens.store(scheduler_.waiting_prompt_tokens(), kRelaxed);
  stats_.waiting_for.store(static_cast<int32_t>(scheduler_.head_shortage()), kRelaxed);
  stats_.blocks_total.store(blocks.capacity, kRelaxed);
  stats_.blocks_used.store(blocks.used, kRelaxed);
  stats_.blocks_cached.store(blocks.cached, kRelaxed);
  stats_.blocks_shared.store(blocks.shared, kRelaxed);
  stats_.blocks_reserved.store(static_cast<int32_t>(scheduler_.reserved_blocks()), kRelaxed);
  stats_.pause_margin.store(scheduler_.pause_margin(), kRelaxed);
  stats_.step_time_error.store(scheduler_.step_time().relative_error(), kRelaxed);
  publish(scheduler_.config());
  publish(scheduler_.totals());
  publish(scheduler_.step_time().prices());
  stats_.retry_after_ms.store(scheduler_.retry_after_ms(), kRelaxed);
  mailbox_.publish_room(scheduler_.room());
}

void ServingLoop::publish(const SchedulerConfig& limits) {
  stats_.max_running.store(limits.max_running, kRelaxed);
  stats_.tokens_per_step.store(limits.tokens_per_step, kRelaxed);
  stats_.tpot_target_ms.store(limits.tpot_target_ms, kRelaxed);
  stats_.max_queued_requests.store(limits.max_queued_requests, kRelaxed);
}

/// The plan's counts stay as they are until the next one is made; everything else was published before.
void ServingLoop::publish_step(const StepPlan& plan, Duration predicted) {
  stats_.timeline.append({.ended = clock_.now(),
                          .took = Duration(static_cast<int64_t>(stats_.last_step_ns.load(kRelaxed))),
                          .predicted = predicted,
                          .decode_rows = plan.decode_rows,
                          .prefill_tokens = plan.prefill_tokens,
                          .running = stats_.running.load(kRelaxed),
                          .waiting = stats_.waiting.load(kRelaxed),
                          .blocks_used = stats_.blocks_used.load(kRelaxed),
                          .blocks_reserved = stats_.blocks_reserved.load(kRelaxed),
                          .blocks_cached = stats_.blocks_cached.load(kRelaxed)});
}

void ServingLoop::publish(const StepPrices& prices) {
  stats_.step_prices.fixed_ms.store(prices.fixed_ms, kRelaxed);
  stats_.step_prices.prefill_token_ms.store(prices.prefill_token_ms, kRelaxed);
  stats_.step_prices.decode_row_ms.store(prices.decode_row_ms, kRelaxed);
  stats_.step_prices.context_token_ms.store(prices.context_token_ms, kRelaxed);
  stats_.step_prices.prefill_pair_ms.store(prices.prefill_pair_ms, kRelaxed);
}

void ServingLoop::publish(const SchedulerTotals& totals) {
  stats_.prefill_tokens.store(totals.prefill_tokens, kRelaxed);
  stats_.decode_tokens.store(totals.decode_tokens, kRelaxed);
  stats_.pauses.store(totals.pauses, kRelaxed);
  stats_.paused_sequences.store(totals.paused_sequences, kRelaxed);
  stats_.prompt_tokens.store(totals.prompt_tokens, kRelaxed);
  stats_.cached_tokens.store(totals.cached_tokens, kRelaxed);
  stats_.decode_stall_seconds.store(totals.decode_stall_seconds, kRelaxed);
  stats_.refused.fetch_add(totals.refused - refused_published_, kRelaxed);
  refused_published_ = totals.refused;
}

}  // namespace sluice::scheduler
