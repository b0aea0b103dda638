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
  while (scheduler_.has_work() || !launched_.empty() || mailbox_.wait()) tick();
}

void ServingLoop::tick() {
  stats_.tick_began_ns.store(clock_.now().time_since_epoch().count(), kRelaxed);
  handle_commands();
  const bool has_launched = launch_next();
  if (!launched_.empty() && !(has_launched && may_launch_another())) collect_oldest();
  hand_over();
  stats_.tick_began_ns.store(0, kRelaxed);
}

bool ServingLoop::may_launch_another() const {
  return static_cast<int32_t>(launched_.size()) <= executor_.steps_ahead();
}

void ServingLoop::hand_over() {
  if (std::vector<TokenEvent> events = scheduler_.take_events(); !events.empty()) sink_.deliver(std::move(events));
}

void ServingLoop::handle_commands() {
  mailbox_.take(commands_);
  const CommandHandler handler{scheduler_, clock_.now()};
  for (Command& command : commands_) std::visit(handler, command);
}

bool ServingLoop::launch_next() {
  if (!may_launch_another() || !scheduler_.may_plan()) return false;
  const StepPlan& plan = scheduler_.plan(clock_.now());
  publish();
  if (plan.empty()) return false;
  // The step may be long: before it, the fronts learn what room the plan has left, and clients that they were taken or
  // refused.
  hand_over();
  launch(plan);
  return true;
}

void ServingLoop::launch(const StepPlan& plan) {
  const Duration predicted = scheduler_.step_time().predict(load_of(plan));
  build_batch(plan, scheduler_.pool().growth(), batch_);
  stats_.step_prefill_tokens.store(plan.prefill_tokens, kRelaxed);
  launched_.push_back({.plan = &plan, .predicted = predicted, .began = clock_.now()});
  if (const Status status = executor_.launch(batch_); !status.ok()) {
    launched_.pop_back();
    fail(status);
    publish();
  }
}

void ServingLoop::collect_oldest() {
  const Launched step = launched_.front();
  Result<engine::StepOutput> output = await(step);
  launched_.erase(launched_.begin());
  if (!output.ok()) {
    fail(output.status());
  } else {
    scheduler_.commit(*step.plan, std::move(output).value(), clock_.now());
  }
  publish();
  publish_step(step);
}

Result<engine::StepOutput> ServingLoop::await(const Launched& step) {
  Result<engine::StepOutput> output = executor_.collect();
  const TimePoint ended = clock_.now();
  const Duration took = ended - step.began;
  if (launched_.size() > 1) launched_[1].began = ended;
  stats_.last_step_ns.store(static_cast<uint64_t>(took.count()), kRelaxed);
  if (output.ok()) {
    stats_.failures.note_success();
    stats_.step.note(*step.plan, static_cast<int64_t>(output->samples.size()), costs_, took, step.predicted);
  }
  stats_.steps.fetch_add(1, kRelaxed);
  return output;
}

void ServingLoop::fail(const Status& status) {
  stats_.failures.note_failure(status.message());
  // Until they are collected, steps that were launched besides write to their blocks.
  for (; !launched_.empty(); launched_.pop_back()) static_cast<void>(executor_.collect());
  scheduler_.fail_step(internal_error("the engine failed: " + status.message()), clock_.now());
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

/// The plan's counts are still as they were; everything else was published before.
void ServingLoop::publish_step(const Launched& step) {
  stats_.timeline.append({.ended = clock_.now(),
                          .took = Duration(static_cast<int64_t>(stats_.last_step_ns.load(kRelaxed))),
                          .predicted = step.predicted,
                          .decode_rows = step.plan->decode_rows,
                          .prefill_tokens = step.plan->prefill_tokens,
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
