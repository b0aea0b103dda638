#include "tests/scheduler/simulation.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "scheduler/batch_builder.h"
#include "tests/scheduler/counted_blocks.h"
#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {
namespace {

constexpr int kBusyTicks = 60;
constexpr std::array kTenants = {"", "anna", "bert", "carl"};

}  // namespace

Simulation::Simulation(uint64_t seed, const std::optional<std::string>& policy, Groups groups, int32_t steps_ahead)
    : random_(seed),
      changes_policy_(!policy),
      vocab_size_(draw(2, 60)),
      load_(draw_load()),
      unit_(chance(0.5) ? std::chrono::nanoseconds(1) : std::chrono::microseconds(500)),
      reuses_outputs_(chance(0.5)),
      hasher_(test_hasher()),
      growth_(draw_growth(groups)),
      pool_(draw_block_count(), growth_),
      scheduler_(draw_config(policy), pool_, hasher_, reuses_outputs_),
      first_limits_(scheduler_.config()),
      executor_(pool_.capacity(), growth_, vocab_size_, steps_ahead),
      plan_checker_(scheduler_, records_),
      event_checker_(scheduler_, records_) {
  for (int i = 0; i < 3; ++i) beginnings_.push_back(draw_tokens(draw(1, load_.is_crowded ? 16 : 40)));
}

Simulation::Load Simulation::draw_load() {
  return {.busyness = std::uniform_real_distribution<double>(0.02, 0.6)(random_),
          .shares = chance(0.6),
          .has_tenants = chance(0.5),
          .turns_long = chance(0.4),
          .is_crowded = chance(0.3)};
}

kvcache::BlockGrowth Simulation::draw_growth(Groups groups) {
  const int32_t block_size = draw(1, load_.is_crowded ? 3 : 8);
  if (groups.windowed == 0) return {.block_size = block_size, .full_groups = groups.full};
  const int32_t window = draw(2, 16);
  return windowed_growth(block_size, groups.full, groups.windowed, window, chance(0.5) ? draw(1, 8) : 48);
}

int32_t Simulation::draw_block_count() {
  const int32_t count = load_.is_crowded ? draw(12, 30) : draw(1, chance(0.3) ? 6 : 60);
  return count * (1 + growth_.groups()) / 2;
}

std::string Simulation::draw_policy() {
  constexpr std::array kPolicies = {"reserve", "plan", "adaptive"};
  return kPolicies[static_cast<size_t>(draw(0, 2))];
}

SchedulerConfig Simulation::draw_config(const std::optional<std::string>& policy) {
  SchedulerConfig config;
  config.max_running = load_.is_crowded ? 24 : draw(1, chance(0.3) ? 24 : 8);
  config.max_running_per_tenant = chance(0.2) ? draw(1, 4) : 0;
  config.max_queued_requests = draw(0, 8);
  if (chance(0.2)) config.max_queued_tokens = draw(1, 100);
  config.max_queued_per_tenant = chance(0.2) ? draw(1, 4) : 0;
  config.tokens_per_step = config.max_running + draw(0, 24);
  config.tpot_target_ms = chance(0.2) ? to_milliseconds(unit_) * draw(40, 120) : 0;
  config.admission = policy ? *policy : draw_policy();
  return config;
}

std::vector<int32_t> Simulation::draw_tokens(int32_t count) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < count; ++i) tokens.push_back(draw(0, vocab_size_ - 1));
  return tokens;
}

Submission Simulation::draw_submission() {
  Submission submission;
  submission.id = {next_id_++};
  if (load_.shares && chance(0.8)) {
    const std::vector<int32_t>& beginning = beginnings_[static_cast<size_t>(draw(0, 2))];
    const auto all = static_cast<int32_t>(beginning.size());
    const int32_t length = draw(load_.is_crowded ? all / 2 + 1 : 1, all);
    submission.prompt.assign(beginning.begin(), beginning.begin() + length);
  }
  const int32_t rest_max = load_.is_crowded ? 3 : chance(0.2) ? 60 : 12;
  const std::vector<int32_t> rest = draw_tokens(draw(submission.prompt.empty() ? 1 : 0, rest_max));
  submission.prompt.insert(submission.prompt.end(), rest.begin(), rest.end());
  submission.sampling.temperature = chance(0.5) ? 0.0F : 1.0F;
  if (executor_.steps_ahead() > 0 && chance(0.05)) submission.sampling.presence_penalty = 1;
  submission.seed = random_();
  submission.max_new_tokens = load_.is_crowded ? draw(8, 24) : draw(0, chance(0.2) ? 40 : 8);
  const bool ends_early = load_.turns_long ? tick_ < kBusyTicks / 2 : chance(0.4);
  if (ends_early) submission.stop_token_ids = draw_tokens(load_.turns_long ? std::max(2, vocab_size_ / 4) : 2);
  if (load_.turns_long && chance(0.7)) submission.max_new_tokens = draw(20, 60);
  submission.sequence_count = chance(0.3) ? draw(2, 5) : 1;
  submission.score_prompt = chance(load_.shares ? 0.1 : 0.3);
  if (load_.has_tenants) {
    submission.tenant = kTenants[static_cast<size_t>(draw(0, 3))];
    submission.priority = chance(0.3) ? draw(-1, 1) : 0;
  }
  if (load_.shares && chance(0.9)) add_keys(submission);
  submission.arrival = clock_.now();
  clock_.advance(unit_ * draw(0, 5));
  if (chance(0.2)) submission.deadline = clock_.now() + unit_ * draw(0, 4000);
  return submission;
}

/// Keys are those of the prompt, but now and then the last one is somebody else's: as if two contents had one hash.
void Simulation::add_keys(Submission& submission) {
  add_prefix_keys(submission, hasher_, pool_.block_size(), chance(0.1) ? submission.tenant : "");
  std::vector<kvcache::BlockKey>& keys = submission.prefix_keys->blocks;
  if (keys.empty() || reuses_outputs_ || !chance(0.1)) return;
  const std::vector<int32_t>& other = beginnings_[static_cast<size_t>(draw(0, 2))];
  const std::vector<kvcache::BlockKey> others = kvcache::prompt_keys(hasher_, "", other, pool_.block_size());
  if (keys.size() > others.size()) return;
  // What precedes the block is only compared by its hash, so one that has the other's tokens by chance would be a hit.
  const auto last = static_cast<std::ptrdiff_t>(keys.size() - 1) * pool_.block_size();
  if (std::equal(other.begin() + last, other.begin() + last + pool_.block_size(), submission.prompt.begin() + last))
    return;
  keys.back() = others[keys.size() - 1];
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
  steps_allowed_ += (record.tokens_max() + executor_.steps_ahead()) * submission.sequence_count;
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

void Simulation::change_limits() {
  SchedulerConfig wanted = first_limits_;
  wanted.max_running = draw(1, first_limits_.max_running);
  wanted.tokens_per_step = draw(wanted.max_running, first_limits_.tokens_per_step);
  wanted.max_queued_requests = draw(0, 8);
  wanted.max_running_per_tenant = chance(0.3) ? draw(1, 4) : 0;
  wanted.tpot_target_ms = chance(0.3) ? to_milliseconds(unit_) * draw(40, 120) : 0;
  // One under whom nobody is paused can't be promised to those who were admitted under another.
  if (changes_policy_) wanted.admission = chance(0.5) ? "plan" : "adaptive";
  ASSERT_TRUE(first_limits_.check_change(wanted).ok());
  scheduler_.set_limits(wanted);
}

/// Asks about a request that never comes.
void Simulation::ask() {
  Submission submission = draw_submission();
  --next_id_;
  const int64_t blocks =
      counted_blocks(pool_.growth(), static_cast<int64_t>(submission.prompt.size()) + submission.max_new_tokens);
  const kvcache::SharedBlockCounts before = pool_.counts();
  const bool has_work = submission.has_work();
  const Explanation explanation = scheduler_.explain(submission);
  EXPECT_EQ(explanation.never_fits, has_work && blocks > pool_.capacity());
  EXPECT_EQ(explanation.final_blocks, blocks);
  EXPECT_EQ(explanation.is_admitted_now, explanation.shortage == Shortage::kNone);
  if (explanation.times) {
    EXPECT_LE(explanation.times->start, explanation.times->first_token);
    EXPECT_LE(explanation.times->first_token, explanation.times->finish);
  }
  EXPECT_EQ(pool_.counts().used, before.used);
  EXPECT_EQ(pool_.counts().shared, before.shared);
}

void Simulation::disturb() {
  if (chance(load_.busyness)) {
    for (int32_t burst = draw(1, chance(0.1) ? 12 : 3); burst > 0; --burst) submit();
  }
  if (chance(0.15)) cancel();
  if (chance(0.05)) change_limits();
  if (chance(0.03)) ask();
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
  // Now and then the loop isn't quick enough to run ahead.
  const bool is_late = !launched_.empty() && chance(0.1);
  const bool has_launched = !is_late && launch_next();
  if (!launched_.empty() && !(has_launched && may_launch_another())) collect_oldest();
  ++tick_;
}

bool Simulation::may_launch_another() const {
  return static_cast<int32_t>(launched_.size()) <= executor_.steps_ahead();
}

bool Simulation::launch_next() {
  if (!scheduler_.may_plan()) {
    ++held_up_count_;
    return false;
  }
  const StepPlan& plan = scheduler_.plan(clock_.now());
  check_events(false);
  plan_checker_.check(plan, clock_.now());
  if (plan.empty()) return false;
  --steps_allowed_;
  ahead_count_ += plan.is_ahead ? 1 : 0;
  build_batch(plan, pool_.growth(), batch_);
  EXPECT_TRUE(executor_.launch(batch_).ok());
  launched_.push_back(&plan);
  return true;
}

void Simulation::collect_oldest() {
  const StepPlan& plan = *launched_.front();
  launched_.pop_front();
  const bool has_prefill = plan.prefill_tokens > 0;
  Result<engine::StepOutput> output = executor_.collect();
  clock_.advance(unit_ * (50 + 3 * plan.prefill_tokens + plan.decode_rows));
  dropped_count_ += std::ranges::count(plan.slices, nullptr, &Slice::sequence);
  if (output.ok()) {
    plan_checker_.note_collected(clock_.now());
    scheduler_.commit(plan, std::move(output).value(), clock_.now());
  } else {
    for (; !launched_.empty(); launched_.pop_front()) EXPECT_FALSE(executor_.collect().ok());
    event_checker_.expect_failure(output.status().code());
    plan_checker_.note_failed();
    scheduler_.fail_step(output.status(), clock_.now());
  }
  check_events(has_prefill);
}

void Simulation::run() {
  for (int i = 0; i < kBusyTicks && !::testing::Test::HasFailure(); ++i) {
    disturb();
    tick();
  }
  while ((scheduler_.has_work() || !launched_.empty()) && !::testing::Test::HasFailure()) {
    ASSERT_GE(steps_allowed_, 0) << "the work does not end";
    tick();
  }
  if (!::testing::Test::HasFailure()) check_end();
}

int64_t Simulation::wrapped_count() const {
  int64_t count = 0;
  for (const auto& [id, record] : records_) {
    count += std::ranges::count_if(record.sequences, [this](const SequenceRecord& sequence) {
      return growth_.window_groups > 0 && sequence.computed > growth_.ring_blocks * growth_.block_size;
    });
  }
  return count;
}

void Simulation::check_end() {
  const StepPlan& nothing = scheduler_.plan(clock_.now());
  EXPECT_TRUE(nothing.empty());
  EXPECT_FALSE(nothing.is_ahead) << "a step waits for its commit";
  EXPECT_EQ(pool_.counts().used, 0);
  EXPECT_EQ(pool_.counts().shared, 0);
  EXPECT_EQ(scheduler_.reserved_blocks(), 0);
  EXPECT_EQ(scheduler_.running_count(), 0);
  EXPECT_EQ(scheduler_.waiting_count(), 0);
  EXPECT_EQ(scheduler_.waiting_prompt_tokens(), 0);
  uint64_t tokens = 0;
  for (const auto& [id, record] : records_) {
    for (const SequenceRecord& sequence : record.sequences) tokens += sequence.tokens.size();
  }
  EXPECT_EQ(scheduler_.totals().decode_tokens, tokens) << "what was dropped counts nowhere";
  for (const auto& [id, record] : records_) {
    EXPECT_TRUE(record.is_refused || record.has_ended()) << "request " << id.value << " has no end";
    EXPECT_NE(record.is_refused, record.is_accepted) << "request " << id.value;
  }
}

}  // namespace sluice::scheduler
