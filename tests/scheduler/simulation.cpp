#include "tests/scheduler/simulation.h"

#include <gtest/gtest.h>

#include "scheduler/batch_builder.h"

namespace sluice::scheduler {
namespace {

constexpr int kBusyTicks = 60;

}  // namespace

Simulation::Simulation(uint64_t seed)
    : random_(seed),
      vocab_size_(draw(2, 60)),
      busyness_(std::uniform_real_distribution<double>(0.02, 0.6)(random_)),
      pool_(draw(1, chance(0.3) ? 6 : 60), draw(1, 8)),
      scheduler_(draw_config(), pool_),
      executor_(pool_.capacity(), pool_.block_size(), vocab_size_),
      plan_checker_(scheduler_, records_),
      event_checker_(scheduler_, records_) {}

SchedulerConfig Simulation::draw_config() {
  SchedulerConfig config;
  config.max_running = draw(1, 8);
  config.max_queued_requests = draw(0, 8);
  config.tokens_per_step = config.max_running + draw(0, 24);
  return config;
}

Submission Simulation::draw_submission() {
  Submission submission;
  submission.id = {next_id_++};
  const int32_t prompt_length = draw(1, chance(0.2) ? 60 : 12);
  for (int32_t i = 0; i < prompt_length; ++i) submission.prompt.push_back(draw(0, vocab_size_ - 1));
  submission.sampling.temperature = chance(0.5) ? 0.0F : 1.0F;
  submission.seed = random_();
  submission.max_new_tokens = draw(0, chance(0.2) ? 40 : 8);
  if (chance(0.4)) submission.stop_token_ids = {draw(0, vocab_size_ - 1), draw(0, vocab_size_ - 1)};
  submission.sequence_count = chance(0.3) ? draw(2, 5) : 1;
  submission.score_prompt = chance(0.3);
  submission.arrival = clock_.now();
  clock_.advance(Duration(draw(0, 5)));
  if (chance(0.2)) submission.deadline = clock_.now() + Duration(draw(0, 4000));
  return submission;
}

void Simulation::submit() {
  Submission submission = draw_submission();
  RequestRecord record;
  record.submission = submission;
  if (submission.score_prompt) record.expected_scores = solo_scores(submission, vocab_size_);
  record.sequences.resize(static_cast<size_t>(submission.sequence_count));
  for (int32_t i = 0; i < submission.sequence_count; ++i) {
    record.sequences[static_cast<size_t>(i)].expected = solo_output(submission, i, vocab_size_);
  }
  ticks_allowed_ += record.tokens_max() * submission.sequence_count;
  records_.emplace(submission.id, std::move(record));
  scheduler_.submit(std::move(submission), clock_.now());
  check_events(false);
}

void Simulation::cancel() {
  // An id that was never given out, ones that have ended and indices out of range must do no harm.
  const RequestId id{static_cast<uint64_t>(draw(1, static_cast<int32_t>(next_id_)))};
  Cancel cancel{.request = id, .sequence = std::nullopt};
  if (chance(0.4)) cancel.sequence = draw(-1, 5);
  if (const auto found = records_.find(id); found != records_.end()) {
    std::vector<SequenceRecord>& sequences = found->second.sequences;
    for (size_t i = 0; i < sequences.size(); ++i) {
      const bool is_meant = !cancel.sequence || *cancel.sequence == static_cast<int32_t>(i);
      if (is_meant && !sequences[i].has_ended) sequences[i].is_cancelled = true;
    }
  }
  scheduler_.cancel(cancel, clock_.now());
  check_events(false);
}

void Simulation::disturb() {
  if (chance(busyness_)) {
    for (int32_t burst = draw(1, chance(0.1) ? 12 : 3); burst > 0; --burst) submit();
  }
  if (chance(0.15)) cancel();
  if (chance(0.005)) {
    event_checker_.expect_failure(StatusCode::kUnavailable);
    scheduler_.fail_all(unavailable("the drain time is over"), clock_.now());
    check_events(false);
  }
  if (chance(0.005)) executor_.fail_next_step(internal_error("out of order"));
}

void Simulation::check_events(bool step_has_prefill) {
  event_checker_.check(scheduler_.take_events(), step_has_prefill, clock_.now());
}

void Simulation::tick() {
  const StepPlan& plan = scheduler_.plan(clock_.now());
  check_events(false);
  plan_checker_.check(plan, clock_.now());
  if (!plan.empty()) step(plan);
}

void Simulation::step(const StepPlan& plan) {
  --ticks_allowed_;
  const bool has_prefill = plan.prefill_tokens > 0;
  build_batch(plan, pool_.block_size(), batch_);
  Result<engine::StepOutput> output = executor_.step(batch_);
  clock_.advance(Duration(50 + 3 * plan.prefill_tokens + plan.decode_rows));
  if (output.ok()) {
    scheduler_.commit(plan, std::move(output).value(), clock_.now());
  } else {
    event_checker_.expect_failure(output.status().code());
    scheduler_.fail_all(output.status(), clock_.now());
  }
  check_events(has_prefill);
}

void Simulation::run() {
  for (int i = 0; i < kBusyTicks && !::testing::Test::HasFailure(); ++i) {
    disturb();
    tick();
  }
  while (scheduler_.has_work() && !::testing::Test::HasFailure()) {
    ASSERT_GT(ticks_allowed_, 0) << "the work does not end";
    tick();
  }
  if (!::testing::Test::HasFailure()) check_end();
}

void Simulation::check_end() const {
  const kvcache::BlockCounts counts = pool_.counts();
  EXPECT_EQ(counts.used, 0);
  EXPECT_EQ(counts.reserved, 0);
  EXPECT_EQ(scheduler_.running_count(), 0);
  EXPECT_EQ(scheduler_.waiting_count(), 0);
  for (const auto& [id, record] : records_) {
    EXPECT_TRUE(record.is_refused || record.has_ended()) << "request " << id.value << " has no end";
    EXPECT_NE(record.is_refused, record.is_accepted) << "request " << id.value;
  }
}

}  // namespace sluice::scheduler
