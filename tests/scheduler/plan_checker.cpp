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
int64_t PlanChecker::prompt_left(const Sequence& sequence) {
  return std::min(sequence.prompt_length() - record_of(sequence).computed, scheduler_.pool().growth().slice_max());
}

/// Tokens that it may draw beside those that are being drawn.
int64_t PlanChecker::left(const Sequence& sequence) {
  const SequenceRecord& record = record_of(sequence);
  return sequence.submission().max_new_tokens - static_cast<int64_t>(record.tokens.size()) - record.drawing;
}

/// Its tokens, with those that are being drawn.
int64_t PlanChecker::foreseen(const Sequence& sequence) {
  const SequenceRecord& record = record_of(sequence);
  return sequence.prompt_length() + static_cast<int64_t>(record.tokens.size()) + record.drawing;
}

void PlanChecker::check(const StepPlan& plan, TimePoint now) {
  EXPECT_EQ(plan.is_ahead, !under_way_.empty());
  EXPECT_TRUE(plan.empty() || scheduler_.has_work());
  EXPECT_TRUE(!plan.empty() || plan.is_ahead || !scheduler_.has_work()) << "progress: who lives is served";
  check_deadlines(now);
  check_admissions();
  count_holders();
  int64_t prompt_tokens_left = 0;
  for (const RunningRow& row : scheduler_.running()) {
    const SequenceRecord& record = record_of(*row.sequence);
    EXPECT_FALSE(record.has_ended);
    EXPECT_EQ(record.computed - record.under_way, row.sequence->computed_count());
    prompt_tokens_left += std::max<int64_t>(prompt_left(*row.sequence), 0);
  }
  Step step;
  check_decode_priority(plan, now, step);
  check_budget(plan, prompt_tokens_left);
  check_first_prompt(plan);
  check_slices(plan);
  check_tables();
  check_blocks();
  check_nobody_waits_without_reason();
  if (!plan.empty()) note(plan, std::move(step), now);
}

void PlanChecker::note(const StepPlan& plan, Step step, TimePoint now) {
  int32_t samples = 0;
  for (const Slice& slice : plan.slices) {
    SequenceRecord& record = record_of(*slice.sequence);
    samples += slice.samples();
    step.parts.push_back({.record = &record,
                          .length = slice.length,
                          .drawn_sample = slice.draws ? samples - 1 : -1,
                          .table = record.table});
    record.under_way += slice.length;
    record.drawing += slice.draws ? 1 : 0;
  }
  EXPECT_EQ(plan.samples, samples);
  if (under_way_.empty()) begin(step, now);
  under_way_.push_back(std::move(step));
}

void PlanChecker::begin(const Step& step, TimePoint now) {
  for (const Part& part : step.parts) {
    SequenceRecord& record = *part.record;
    if (record.has_ended) continue;
    if (!record.first_slice) record.first_slice = now;
    if (record.pause_began) record.pause_in_gap += now - *record.pause_began;
    record.pause_began.reset();
  }
  for (SequenceRecord* record : step.paused) {
    if (!record->pause_began) record->pause_began = now;
  }
}

void PlanChecker::note_collected(TimePoint now) {
  for (const Part& part : under_way_.front().parts) {
    part.record->under_way -= part.length;
    part.record->drawing -= part.drawn_sample >= 0 ? 1 : 0;
  }
  under_way_.pop_front();
  if (!under_way_.empty()) begin(under_way_.front(), now);
}

void PlanChecker::check_deadlines(TimePoint now) const {
  for (const auto& [id, record] : records_) {
    if (record.is_refused || record.has_ended()) continue;
    EXPECT_GT(record.submission.deadline, now) << "request " << id.value;
  }
}

void PlanChecker::check_decode_priority(const StepPlan& plan, TimePoint now, Step& step) {
  size_t slices = 0;
  for (size_t row = 0; row < scheduler_.running().size(); ++row) {
    const Sequence& sequence = *scheduler_.running()[row].sequence;
    SequenceRecord& record = record_of(sequence);
    const bool decodes = record.computed >= sequence.prompt_length() && left(sequence) > 0;
    const bool has_row = slices < static_cast<size_t>(plan.decode_rows) && plan.slices[slices].sequence == &sequence;
    if (has_row) {
      EXPECT_TRUE(decodes) << "its prompt isn't over, or the token that is being drawn is its last";
      EXPECT_EQ(plan.slices[slices].length, 1);
      ++slices;
    } else if (decodes) {
      check_pause(row, now);
      step.paused.push_back(&record);
    }
  }
  EXPECT_EQ(static_cast<size_t>(plan.decode_rows), slices) << "decode rows come first, in order of admission";
  EXPECT_EQ(static_cast<size_t>(plan.paused_rows), plan.empty() ? 0 : step.paused.size())
      << "every running sequence past its prefill has a row, or is paused";
}

// Who could not take a block when his turn came can't after the others' turns either, because their taking never makes
// an unsafe state safe. So the state after the plan tells.
void PlanChecker::check_pause(size_t row, TimePoint now) {
  const Sequence& sequence = *scheduler_.running()[row].sequence;
  EXPECT_NE(scheduler_.config().admission, "reserve") << "nobody is ever paused who has reserved all";
  const SequenceRecord& record = record_of(sequence);
  if (sequence.is_slow() &&
      (record.drawing > 0 || now - record.last_token < std::chrono::milliseconds(RowThrottle::kIntervalMs))) {
    return;
  }
  EXPECT_GT(blocks_for(foreseen(sequence)), static_cast<int64_t>(sequence.block_table().size()))
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

void PlanChecker::check_first_prompt(const StepPlan& plan) {
  for (const RunningRow& row : scheduler_.running()) {
    if (prompt_left(*row.sequence) <= 0) continue;
    const auto slice = std::find_if(plan.slices.begin(), plan.slices.end(),
                                    [&](const Slice& s) { return s.sequence == row.sequence; });
    const int32_t length = slice == plan.slices.end() ? 0 : slice->length;
    EXPECT_GE(length, std::min<int64_t>(prompt_left(*row.sequence), (plan.prefill_tokens + 1) / 2))
        << "the first prompt gets half of what there is";
    return;
  }
}

void PlanChecker::check_slices(const StepPlan& plan) {
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
    EXPECT_LE(record.computed, foreseen(*slice.sequence));
    EXPECT_EQ(slice.draws, record.computed == foreseen(*slice.sequence) && left(*slice.sequence) > 0);
    check_drawing(slice, record);
  }
}

/// A row whose token is still being drawn says where, and can do without its value.
void PlanChecker::check_drawing(const Slice& slice, const SequenceRecord& record) {
  if (record.drawing == 0) {
    EXPECT_EQ(slice.drawn_before, -1);
    return;
  }
  EXPECT_FALSE(slice.sequence->submission().sampling.has_penalties());
  const std::vector<Part>& before = under_way_.back().parts;
  const auto part = std::ranges::find_if(before, [&](const Part& p) { return p.record == &record; });
  ASSERT_NE(part, before.end());
  EXPECT_EQ(slice.drawn_before, part->drawn_sample);
}

void PlanChecker::count_holders() {
  holders_.clear();
  for (const RunningRow& row : scheduler_.running()) {
    for (const int32_t block : row.sequence->block_table()) ++holders_[block];
  }
  for (const auto& [record, table] : kept_tables()) {
    for (const int32_t block : table) ++holders_[block];
  }
}

std::map<const SequenceRecord*, std::vector<int32_t>> PlanChecker::kept_tables() const {
  std::map<const SequenceRecord*, std::vector<int32_t>> tables;
  for (const Step& step : under_way_) {
    for (const Part& part : step.parts) {
      if (part.record->has_ended) tables[part.record] = part.table;
    }
  }
  return tables;
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
  for (const auto& [record, table] : kept_tables()) {
    const auto owned = std::ranges::count_if(table, [this](int32_t block) { return holders_.at(block) == 1; });
    all.push_back({.need = 0, .owned = owned});
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

bool PlanChecker::is_safe_after_taking(size_t taker) {
  const Sequence& sequence = *scheduler_.running()[taker].sequence;
  const int64_t taken = blocks_for(foreseen(sequence)) - static_cast<int64_t>(sequence.block_table().size());
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
  for (size_t row = 0; row < scheduler_.running().size(); ++row) {
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
