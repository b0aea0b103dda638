#include "tests/scheduler/plan_checker.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "scheduler/row_throttle.h"
#include "tests/scheduler/counted_blocks.h"

namespace sluice::scheduler {

SequenceRecord& PlanChecker::record_of(const Sequence& sequence) {
  return records_.at(sequence.submission().id).sequences.at(static_cast<size_t>(sequence.index()));
}

int64_t PlanChecker::blocks_for(int64_t tokens) const {
  return counted_blocks(scheduler_.pool().growth(), tokens);
}

/// Tokens of its prompt that it could have in this step.
int64_t PlanChecker::prompt_left(const Sequence& sequence) const {
  return std::min(sequence.prompt_length() - sequence.computed_count(), scheduler_.pool().growth().slice_max());
}

void PlanChecker::check(const StepPlan& plan, TimePoint now) {
  EXPECT_EQ(plan.empty(), !scheduler_.has_work()) << "progress: who lives is served";
  check_deadlines(now);
  check_admissions();
  count_holders();
  int64_t prompt_tokens_left = 0;
  for (const RunningRow& row : scheduler_.running()) {
    const SequenceRecord& record = record_of(*row.sequence);
    EXPECT_FALSE(record.has_ended);
    EXPECT_EQ(record.computed, row.sequence->computed_count());
    prompt_tokens_left += std::max<int64_t>(prompt_left(*row.sequence), 0);
  }
  check_decode_priority(plan, now);
  check_budget(plan, prompt_tokens_left);
  check_first_prompt(plan);
  check_slices(plan, now);
  check_tables();
  check_blocks();
  check_nobody_waits_without_reason();
}

void PlanChecker::check_deadlines(TimePoint now) const {
  for (const auto& [id, record] : records_) {
    if (record.is_refused || record.has_ended()) continue;
    EXPECT_GT(record.submission.deadline, now) << "request " << id.value;
  }
}

void PlanChecker::check_decode_priority(const StepPlan& plan, TimePoint now) {
  size_t slices = 0;
  int32_t paused = 0;
  for (size_t row = 0; row < scheduler_.running().size(); ++row) {
    const Sequence& sequence = *scheduler_.running()[row].sequence;
    SequenceRecord& record = record_of(sequence);
    if (record.computed < sequence.prompt_length()) continue;
    if (slices < plan.slices.size() && plan.slices[slices].sequence == &sequence) {
      EXPECT_EQ(plan.slices[slices].length, 1);
      ++slices;
      continue;
    }
    ++paused;
    check_pause(row, now);
    if (!record.pause_began) record.pause_began = now;
  }
  EXPECT_EQ(static_cast<size_t>(plan.decode_rows), slices) << "decode rows come first, in order of admission";
  EXPECT_EQ(plan.paused_rows, paused) << "every running sequence past its prefill has a row, or is paused";
}

// Who could not take a block when his turn came can't after the others' turns either, because their taking never makes
// an unsafe state safe. So the state after the plan tells.
void PlanChecker::check_pause(size_t row, TimePoint now) {
  const Sequence& sequence = *scheduler_.running()[row].sequence;
  EXPECT_NE(scheduler_.config().admission, "reserve") << "nobody is ever paused who has reserved all";
  if (sequence.is_slow() &&
      now - record_of(sequence).last_token < std::chrono::milliseconds(RowThrottle::kIntervalMs)) {
    return;
  }
  EXPECT_GT(blocks_for(sequence.token_count()), static_cast<int64_t>(sequence.block_table().size()))
      << "paused though it needs no block";
  EXPECT_FALSE(is_safe_after_taking(row)) << "paused though its blocks would leave the state safe";
}

void PlanChecker::check_budget(const StepPlan& plan, int64_t prompt_tokens_left) const {
  const SchedulerConfig& config = scheduler_.config();
  const int32_t block_size = scheduler_.pool().block_size();
  int64_t tokens = 0;
  for (const Slice& slice : plan.slices) tokens += slice.length;
  EXPECT_EQ(tokens, plan.decode_rows + plan.prefill_tokens);
  const int64_t for_prompts = std::max(config.tokens_per_step - plan.decode_rows, block_size);
  if (config.tpot_target_ms > 0 && plan.decode_rows > 0) {
    EXPECT_GE(plan.prefill_tokens, std::min<int64_t>(prompt_tokens_left, block_size)) << "a block at least";
    EXPECT_LE(plan.prefill_tokens, std::min(prompt_tokens_left, for_prompts));
  } else {
    EXPECT_EQ(plan.prefill_tokens, std::min(prompt_tokens_left, for_prompts))
        << "prompts get what decode leaves, all of it";
  }
}

void PlanChecker::check_first_prompt(const StepPlan& plan) const {
  for (const RunningRow& row : scheduler_.running()) {
    if (!row.sequence->is_prefill()) continue;
    const auto slice = std::find_if(plan.slices.begin(), plan.slices.end(),
                                    [&](const Slice& s) { return s.sequence == row.sequence; });
    const int32_t length = slice == plan.slices.end() ? 0 : slice->length;
    EXPECT_GE(length, std::min<int64_t>(prompt_left(*row.sequence), (plan.prefill_tokens + 1) / 2))
        << "the first prompt gets half of what there is";
    return;
  }
}

void PlanChecker::check_slices(const StepPlan& plan, TimePoint now) {
  std::set<const Sequence*> seen;
  uint64_t admitted_before = 0;
  for (size_t i = 0; i < plan.slices.size(); ++i) {
    const Slice& slice = plan.slices[i];
    EXPECT_TRUE(seen.insert(slice.sequence).second) << "one slice per sequence";
    SequenceRecord& record = record_of(*slice.sequence);
    EXPECT_EQ(slice.begin, record.computed) << "consecutive positions, no token twice";
    EXPECT_GT(slice.length, 0);
    EXPECT_LE(slice.length, scheduler_.pool().growth().slice_max());
    if (static_cast<int32_t>(i) > plan.decode_rows) {
      EXPECT_GT(slice.sequence->admission_number(), admitted_before) << "prompts go on in order of admission";
    }
    admitted_before = slice.sequence->admission_number();
    record.computed = slice.begin + slice.length;
    EXPECT_LE(record.computed, slice.sequence->token_count());
    if (!record.first_slice) record.first_slice = now;
    if (record.pause_began) record.pause_in_gap += now - *record.pause_began;
    record.pause_began.reset();
  }
}

void PlanChecker::count_holders() {
  holders_.clear();
  for (const RunningRow& row : scheduler_.running()) {
    for (const int32_t block : row.sequence->block_table()) ++holders_[block];
  }
}

void PlanChecker::check_tables() {
  for (const RunningRow& row : scheduler_.running()) {
    const Sequence& sequence = *row.sequence;
    SequenceRecord& record = record_of(sequence);
    const auto table = sequence.block_table();
    EXPECT_EQ(static_cast<int64_t>(table.size()), blocks_for(std::max(record.computed, sequence.prompt_length())))
        << "exact cover";
    EXPECT_EQ(std::set<int32_t>(table.begin(), table.end()).size(), table.size()) << "a block twice in one table";
    ASSERT_GE(table.size(), record.table.size()) << "evicted";
    EXPECT_TRUE(std::equal(record.table.begin(), record.table.end(), table.begin())) << "a table only grows";
    record.table.assign(table.begin(), table.end());
    check_writing(sequence);
  }
}

/// What it writes in this step and later is in blocks of its own.
void PlanChecker::check_writing(const Sequence& sequence) const {
  const kvcache::BlockGrowth& growth = scheduler_.pool().growth();
  const auto table = sequence.block_table();
  const int64_t tokens_max = records_.at(sequence.submission().id).tokens_max();
  const bool goes_round = growth.window_groups > 0 && tokens_max > int64_t{growth.ring_blocks} * growth.block_size;
  // Whoever goes round in rings writes over all blocks of theirs, sooner or later, and shares none of the others.
  const int64_t written =
      goes_round ? 0 : counted_blocks(growth, sequence.computed_count() / growth.block_size * growth.block_size);
  for (auto place = static_cast<size_t>(written); place < table.size(); ++place) {
    EXPECT_EQ(holders_.at(table[place]), 1) << "a block that is still written to is shared";
  }
}

std::vector<PlanChecker::Holding> PlanChecker::holdings() const {
  std::vector<Holding> all;
  for (const RunningRow& row : scheduler_.running()) {
    const auto table = row.sequence->block_table();
    Holding holding;
    holding.need =
        blocks_for(records_.at(row.sequence->submission().id).tokens_max()) - static_cast<int64_t>(table.size());
    for (const int32_t block : table) holding.owned += holders_.at(block) == 1 ? 1 : 0;
    all.push_back(holding);
  }
  return all;
}

bool PlanChecker::is_safe(std::vector<Holding> holdings, int64_t free) const {
  if (free < 0) return false;
  std::sort(holdings.begin(), holdings.end(), [](const Holding& a, const Holding& b) { return a.need < b.need; });
  for (const Holding& holding : holdings) {
    if (holding.need > free) return false;
    free += holding.owned;
  }
  return true;
}

bool PlanChecker::is_safe_after_taking(size_t taker) const {
  const Sequence& sequence = *scheduler_.running()[taker].sequence;
  const int64_t taken = blocks_for(sequence.token_count()) - static_cast<int64_t>(sequence.block_table().size());
  std::vector<Holding> after = holdings();
  after[taker].need -= taken;
  after[taker].owned += taken;
  return is_safe(after, scheduler_.pool().capacity() - static_cast<int64_t>(holders_.size()) - taken);
}

void PlanChecker::check_blocks() const {
  const kvcache::SharedBlockCounts counts = scheduler_.pool().counts();
  const auto used = static_cast<int64_t>(holders_.size());
  const auto shared =
      std::count_if(holders_.begin(), holders_.end(), [](const auto& block) { return block.second > 1; });
  EXPECT_EQ(counts.used, used) << "conservation";
  EXPECT_EQ(counts.shared, shared);
  EXPECT_EQ(counts.free + counts.used, counts.capacity);
  EXPECT_LE(counts.cached, counts.free);
  const std::vector<Holding> all = holdings();
  int64_t reserved = used;
  for (size_t row = 0; row < all.size(); ++row) {
    reserved += all[row].need;
    EXPECT_EQ(scheduler_.running()[row].sequence->table().owned_count(), all[row].owned);
  }
  EXPECT_EQ(scheduler_.reserved_blocks(), reserved);
  EXPECT_TRUE(is_safe(all, counts.capacity - used)) << "nobody could ever be sure to get to the end";
}

void PlanChecker::check_admissions() {
  const SchedulerConfig& config = scheduler_.config();
  std::map<std::string, int32_t> by_tenant;
  for (const RunningRow& row : scheduler_.running()) ++by_tenant[row.sequence->submission().tenant];
  for (const RunningRow& row : scheduler_.running()) {
    Sequence& sequence = *row.sequence;
    SequenceRecord& record = record_of(sequence);
    if (record.was_admitted) continue;
    const RequestRecord& request = records_.at(sequence.submission().id);
    record.was_admitted = true;
    record.cached = record.computed = sequence.computed_count();
    for (int32_t sibling = 0; sibling < sequence.index(); ++sibling) {
      const SequenceRecord& before = request.sequences[static_cast<size_t>(sibling)];
      EXPECT_TRUE(before.was_admitted || before.has_ended) << "siblings go by index";
    }
    EXPECT_EQ(record.cached % scheduler_.pool().block_size(), 0) << "whole blocks are found";
    EXPECT_LT(record.cached, sequence.prompt_length()) << "the last token of a prompt is always computed";
    EXPECT_TRUE(record.cached == 0 || sequence.submission().prefix_keys);
    EXPECT_TRUE(record.cached == 0 || !sequence.scores_prompt());
    EXPECT_LE(scheduler_.running_count(), config.max_running);
    const int32_t own = by_tenant[sequence.submission().tenant];
    EXPECT_TRUE(config.max_running_per_tenant == 0 || own <= config.max_running_per_tenant);
    if (config.admission == "reserve") {
      EXPECT_LE(scheduler_.reserved_blocks(), scheduler_.pool().capacity()) << "never overcommits";
    }
  }
}

/// Nothing but blocks and rows decides, and in order of arrival.
bool PlanChecker::is_plain() const {
  if (scheduler_.config().admission != "reserve" || scheduler_.config().max_running_per_tenant > 0) return false;
  return std::all_of(records_.begin(), records_.end(), [](const auto& entry) {
    const Submission& submission = entry.second.submission;
    return submission.tenant.empty() && submission.priority == 0 && !submission.prefix_keys;
  });
}

void PlanChecker::check_nobody_waits_without_reason() {
  if (!is_plain()) return;
  const auto refused =
      std::count_if(records_.begin(), records_.end(), [](const auto& entry) { return entry.second.is_refused; });
  // Those before the head may have been refused just now, by the same plan.
  if (std::exchange(refused_count_, refused) != refused) return;
  const RequestRecord* head = first_that_waits();
  if (head == nullptr) return;
  EXPECT_TRUE(scheduler_.running_count() >= scheduler_.config().max_running ||
              scheduler_.reserved_blocks() + blocks_for(head->tokens_max()) > scheduler_.pool().capacity())
      << "request " << head->submission.id.value << " is the first that waits and would fit";
}

const RequestRecord* PlanChecker::first_that_waits() const {
  const auto place_of = [](const RequestRecord& record) {
    return std::tuple(!record.has_started(), record.has_started() ? TimePoint{} : record.submission.deadline,
                      record.submission.id);
  };
  const RequestRecord* first = nullptr;
  for (const auto& [id, record] : records_) {
    if (record.is_refused || record.has_ended()) continue;
    const bool waits = std::any_of(record.sequences.begin(), record.sequences.end(),
                                   [](const SequenceRecord& s) { return !s.was_admitted && !s.has_ended; });
    if (waits && (first == nullptr || place_of(record) < place_of(*first))) first = &record;
  }
  return first;
}

}  // namespace sluice::scheduler
