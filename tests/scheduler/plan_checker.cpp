#include "tests/scheduler/plan_checker.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace sluice::scheduler {

SequenceRecord& PlanChecker::record_of(const Sequence& sequence) {
  return records_.at(sequence.submission().id).sequences.at(static_cast<size_t>(sequence.index()));
}

int64_t PlanChecker::blocks_for(int64_t tokens) const {
  const int64_t size = scheduler_.pool().block_size();
  return tokens / size + (tokens % size > 0 ? 1 : 0);
}

void PlanChecker::check(const StepPlan& plan, TimePoint now) {
  EXPECT_EQ(plan.empty(), !scheduler_.has_work()) << "progress: who lives is served";
  EXPECT_LE(scheduler_.waiting_count(), scheduler_.config().max_queued_requests);
  check_deadlines(now);
  check_order();
  int64_t prompt_tokens_left = 0;
  for (const auto& [number, sequence] : scheduler_.running()) {
    const SequenceRecord& record = record_of(*sequence);
    EXPECT_FALSE(record.has_ended);
    prompt_tokens_left += std::max(sequence->prompt_length() - record.computed, 0);
  }
  check_decode_priority(plan);
  check_budget(plan, prompt_tokens_left);
  check_slices(plan, now);
  check_blocks();
  check_nobody_waits_without_reason();
}

void PlanChecker::check_deadlines(TimePoint now) const {
  for (const auto& [id, record] : records_) {
    if (record.is_refused || record.has_ended()) continue;
    EXPECT_GT(record.submission.deadline, now) << "request " << id.value;
  }
}

void PlanChecker::check_decode_priority(const StepPlan& plan) const {
  std::vector<const Sequence*> decoding;
  for (const auto& [number, sequence] : scheduler_.running()) {
    const SequenceRecord& record =
        records_.at(sequence->submission().id).sequences.at(static_cast<size_t>(sequence->index()));
    if (record.computed >= sequence->prompt_length()) decoding.push_back(sequence);
  }
  ASSERT_EQ(static_cast<size_t>(plan.decode_rows), decoding.size())
      << "every running sequence past its prefill has a row";
  ASSERT_LE(decoding.size(), plan.slices.size());
  for (size_t i = 0; i < decoding.size(); ++i) {
    EXPECT_EQ(plan.slices[i].sequence, decoding[i]) << "decode rows come first, in order of admission";
    EXPECT_EQ(plan.slices[i].length, 1);
  }
}

void PlanChecker::check_budget(const StepPlan& plan, int64_t prompt_tokens_left) const {
  const SchedulerConfig& config = scheduler_.config();
  const int32_t block_size = scheduler_.pool().block_size();
  int64_t tokens = 0;
  for (const Slice& slice : plan.slices) tokens += slice.length;
  EXPECT_EQ(tokens, plan.decode_rows + plan.prefill_tokens);
  const int64_t for_prompts = std::max(config.tokens_per_step - plan.decode_rows, block_size);
  EXPECT_EQ(plan.prefill_tokens, std::min(prompt_tokens_left, for_prompts))
      << "prompts get what decode leaves, all of it";
  EXPECT_LE(tokens, config.step_tokens_max(block_size));
  EXPECT_LE(scheduler_.running_count(), config.max_running);
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
    if (static_cast<int32_t>(i) > plan.decode_rows) {
      EXPECT_GT(slice.sequence->admission_number(), admitted_before) << "prompts go on in order of admission";
    }
    admitted_before = slice.sequence->admission_number();
    record.computed = slice.begin + slice.length;
    EXPECT_LE(record.computed, slice.sequence->token_count());
    if (!record.first_slice) record.first_slice = now;
  }
}

void PlanChecker::check_blocks() {
  std::set<int32_t> owned;
  int64_t reserved = 0;
  for (const auto& [number, sequence] : scheduler_.running()) {
    const auto table = sequence->block_table();
    EXPECT_EQ(static_cast<int64_t>(table.size()), blocks_for(record_of(*sequence).computed)) << "exact cover";
    for (const int32_t block : table) EXPECT_TRUE(owned.insert(block).second) << "block " << block << " is owned twice";
    reserved += blocks_for(records_.at(sequence->submission().id).tokens_max());
  }
  const kvcache::BlockCounts counts = scheduler_.pool().counts();
  EXPECT_EQ(counts.used, static_cast<int32_t>(owned.size())) << "conservation";
  EXPECT_EQ(counts.free + counts.used, counts.capacity);
  EXPECT_EQ(counts.reserved, reserved);
  EXPECT_LE(reserved, counts.capacity) << "never overcommits";
}

void PlanChecker::check_order() {
  for (const auto& [number, sequence] : scheduler_.running()) {
    SequenceRecord& record = record_of(*sequence);
    if (record.was_admitted) continue;
    record.was_admitted = true;
    const std::pair place(sequence->submission().id.value, sequence->index());
    EXPECT_GT(place, admitted_last_) << "admitted in order of arrival";
    admitted_last_ = place;
  }
}

void PlanChecker::check_nobody_waits_without_reason() const {
  const kvcache::BlockCounts counts = scheduler_.pool().counts();
  for (const auto& [id, record] : records_) {
    if (record.is_refused || record.has_ended()) continue;
    for (size_t index = 0; index < record.sequences.size(); ++index) {
      const SequenceRecord& sequence = record.sequences[index];
      if (sequence.was_admitted || sequence.has_ended) continue;
      EXPECT_TRUE(scheduler_.running_count() == scheduler_.config().max_running ||
                  counts.reserved + blocks_for(record.tokens_max()) > counts.capacity)
          << "request " << id.value << " is the oldest that waits and would fit";
      return;
    }
  }
}

}  // namespace sluice::scheduler
