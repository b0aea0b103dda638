#include "scheduler/step_slicer.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

namespace sluice::scheduler {
namespace {

constexpr uint64_t kThrottleSteps = 4;  // steps from one look at the throttle to the next, while nobody comes or goes

}  // namespace

void StepSlicer::slice(RunningRows& running, const SchedulerConfig& limits, TimePoint now, StepPlan& plan) {
  if (limits.policy() == AdmissionPolicy::kAdaptive || throttle_.is_active()) update_throttle(running);
  slice_decodes(running, now, plan);
  slice_prompts(running, limits, plan);
  if (plan.empty()) {
    plan.paused.clear();
    plan.paused_rows = 0;
  }
  ++step_;
}

void StepSlicer::update_throttle(RunningRows& running) {
  const uint64_t last_admission = running.count() == 0 ? 0 : running.rows().back().sequence->admission_number();
  const bool is_changed = last_admission != last_admission_ || running.count() != last_row_count_;
  if (step_ % kThrottleSteps != 0 && !(is_changed && throttle_.is_active())) return;
  last_admission_ = last_admission;
  last_row_count_ = running.count();
  const kvcache::SharedBlockCounts counts = pool_.counts();
  throttle_.update(
      running.row_loads(), lengths_,
      {.capacity = int64_t{counts.capacity} - counts.shared, .free = counts.free, .growth = pool_.growth()});
  for (size_t row = 0; row < running.rows().size(); ++row) {
    running.rows()[row].sequence->set_slow(throttle_.is_slow(row));
  }
}

void StepSlicer::slice_decodes(RunningRows& running, TimePoint now, StepPlan& plan) {
  const std::span<const SequenceLoad> loads = running.row_loads();
  safe_.assign(running.loads(), pool_.counts().free);
  // As the state is safe, whoever needs the fewest blocks finds them: were he held back too, nobody might go on.
  const auto first = static_cast<size_t>(std::ranges::min_element(loads, {}, &SequenceLoad::need) - loads.begin());
  for (size_t row = 0; row < running.rows().size(); ++row) {
    Sequence& sequence = *running.rows()[row].sequence;
    if (sequence.has_prompt_left() || sequence.left() == 0) continue;
    const bool is_held = row != first && is_held_back(sequence, now);
    if (!is_held && may_decode(sequence, loads[row])) {
      plan.context_tokens += pool_.growth().keys_seen(sequence.foreseen_count());
      add_slice(sequence, 1, pool_.growth(), plan);
    } else {
      plan.paused.push_back(&sequence);
    }
  }
  plan.decode_rows = static_cast<int32_t>(plan.slices.size());
  plan.paused_rows = static_cast<int32_t>(plan.paused.size());
}

bool StepSlicer::is_held_back(const Sequence& sequence, TimePoint now) {
  return sequence.is_slow() &&
         (sequence.is_drawing() || now - sequence.last_token() < std::chrono::milliseconds(RowThrottle::kIntervalMs));
}

bool StepSlicer::may_decode(const Sequence& sequence, const SequenceLoad& load) {
  const auto wanted = static_cast<int32_t>(pool_.growth().blocks_for(sequence.foreseen_count())) - load.table;
  if (wanted <= 0) return true;
  if (!safe_.may_take(load.need(), wanted)) return false;
  safe_.take(load.need(), load.owned, wanted);
  return true;
}

// The prompt that was admitted first gets at least half of what there is, so that it ends within twice its time alone
// whatever comes. Shorter ones may have the other half, the shortest first, so that they do not wait behind a long one;
// prompts alike are computed one after the other, which is best for all of them.
void StepSlicer::slice_prompts(RunningRows& running, const SchedulerConfig& limits, StepPlan& plan) {
  chunks_.clear();
  for (const RunningRow& row : running.rows()) {
    Sequence& sequence = *row.sequence;
    if (sequence.has_prompt_left()) {
      const int32_t left = sequence.prompt_length() - sequence.planned_count();
      chunks_.push_back({.sequence = &sequence, .left = std::min(left, pool_.growth().slice_max())});
    }
  }
  if (chunks_.empty()) return;
  const int32_t budget = prompt_budget(limits, *chunks_.front().sequence, plan);
  share_out(budget);
  for (const Chunk& chunk : chunks_) {
    if (chunk.length > 0) add_chunk(*chunk.sequence, chunk.length, plan);
  }
}

void StepSlicer::share_out(int32_t budget) {
  Chunk& first = chunks_.front();
  by_left_.clear();
  for (Chunk& chunk : chunks_) by_left_.push_back(&chunk);
  // Of equals, the one admitted first. Not stable_sort, which allocates.
  std::sort(by_left_.begin(), by_left_.end(),
            [](const Chunk* a, const Chunk* b) { return std::pair(a->left, a) < std::pair(b->left, b); });
  const auto give = [](Chunk& chunk, int32_t& from) {
    const int32_t length = std::min(chunk.left - chunk.length, from);
    chunk.length += length;
    from -= length;
  };
  int32_t for_short = budget - std::min(first.left, (budget + 1) / 2);
  int32_t rest = budget - for_short;
  for (Chunk* chunk : by_left_) {
    if (chunk->left < first.left) give(*chunk, for_short);
  }
  rest += for_short;
  give(first, rest);
  for (Chunk* chunk : by_left_) give(*chunk, rest);
}

int32_t StepSlicer::prompt_budget(const SchedulerConfig& limits, const Sequence& first, const StepPlan& plan) const {
  const int32_t block = pool_.block_size();
  const int32_t room = std::max(limits.tokens_per_step - plan.decode_rows, block);
  if (limits.tpot_target_ms <= 0 || plan.decode_rows == 0) return room;
  // As much below the target as predictions are usually off, or every other step would be above it.
  const double aim_ms = limits.tpot_target_ms / (1 + 2 * model_.relative_error());
  const auto target = std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(aim_ms));
  const int64_t keys = pool_.growth().keys_seen(first.planned_count());
  const int32_t fitting = model_.prefill_tokens_within(target, load_of(plan), keys, room);
  return std::max(fitting / block * block, block);
}

void StepSlicer::add_chunk(Sequence& sequence, int32_t length, StepPlan& plan) {
  plan.prefill_tokens += length;
  plan.prefill_pairs += length * pool_.growth().keys_seen(sequence.planned_count() + (length + 1) / 2);
  add_slice(sequence, length, pool_.growth(), plan);
}

void StepSlicer::add_slice(Sequence& sequence, int32_t length, const kvcache::BlockGrowth& growth, StepPlan& plan) {
  const int32_t begin = sequence.planned_count();
  const int32_t end = begin + length;
  while (sequence.table().count() < growth.blocks_for(end)) sequence.take_block();
  // The prompt's last token has no successor to score.
  const int32_t scored =
      sequence.scores_prompt() && sequence.has_prompt_left() ? std::min(end, sequence.prompt_length() - 1) - begin : 0;
  const bool draws = end == sequence.foreseen_count() && sequence.submission().max_new_tokens > 0;
  plan.slices.push_back({.sequence = &sequence,
                         .begin = begin,
                         .length = length,
                         .scored = scored,
                         .draws = draws,
                         .drawn_before = sequence.is_drawing() ? sequence.last_sample() : -1});
  plan.samples += plan.slices.back().samples();
  sequence.plan_slice(length, draws ? std::optional(plan.samples - 1) : std::nullopt);
}

}  // namespace sluice::scheduler
