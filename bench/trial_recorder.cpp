#include "bench/trial_recorder.h"

#include <algorithm>

#include "bench/summary.h"

namespace sluice::bench {
namespace {

constexpr int64_t kEndsMin = 8;  // of a batch that ends early

}  // namespace

void TrialRecorder::add(const RequestOutcome& outcome) {
  last_ = std::max(last_, outcome.due + outcome.slip + outcome.took);
  ++ended_;
  if (outcome.failure) {
    ++failed_;
    if (trial_.first_error.empty()) trial_.first_error = outcome.failure->status.message();
  }
  if (!has_settled_) return settle(outcome);
  count(outcome);
  if (batch_.ended == batch_size_ || looks_hopeless()) close_batch();
}

void TrialRecorder::settle(const RequestOutcome& outcome) {
  early_.push_back(outcome);
  if (breaks_from_the_beginning()) {
    has_settled_ = true;
    batch_begin_ = begin_;
    for (const RequestOutcome& early : early_) count(early);
    close_batch();
  } else if (ended_ >= settle_count_) {
    has_settled_ = true;
    trial_.settle_s = to_seconds(last_ - begin_);
    batch_begin_ = last_;
  }
}

/// All who are sent at once wait for each other's prompts, so their TTFT says little; but the batch is full from the
/// beginning, so the pace that they got is what everyone will get. If none of half a turn kept it, there is nothing to
/// wait for.
bool TrialRecorder::breaks_from_the_beginning() const {
  const auto wanted = static_cast<size_t>(std::max(kEndsMin, (settle_count_ + 1) / 2));
  if (!slo_.tpot || early_.size() < wanted) return false;
  return std::all_of(early_.begin(), early_.end(), [this](const RequestOutcome& outcome) {
    return !outcome.failure && outcome.timing.tpot && *outcome.timing.tpot > *slo_.tpot;
  });
}

/// Where nothing is good a turn has no good part either: two halves of it are evidence enough.
bool TrialRecorder::looks_hopeless() const {
  return batch_.good == 0 && batch_.ended >= std::max(kEndsMin, (batch_size_ + 1) / 2);
}

void TrialRecorder::count(const RequestOutcome& outcome) {
  ++batch_.ended;
  ++pending_.requests;
  slips_ms_.push_back(to_milliseconds(outcome.slip));
  if (outcome.failure) {
    ++pending_.errors;
    return;
  }
  ++batch_.whole;
  const AnswerTiming& timing = outcome.timing;
  pending_.output_tokens += timing.completion_tokens;
  if (timing.ttft) pending_.ttft_ms.push_back(to_milliseconds(*timing.ttft));
  if (timing.tpot) pending_.tpot_ms.push_back(to_milliseconds(*timing.tpot));
  Slo ttft_alone;
  ttft_alone.ttft = slo_.ttft;
  Slo tpot_alone;
  tpot_alone.tpot = slo_.tpot;
  pending_.ttft_kept += ttft_alone.is_met_by(timing) ? 1 : 0;
  pending_.tpot_kept += tpot_alone.is_met_by(timing) ? 1 : 0;
  if (!slo_.is_met_by(timing)) return;
  ++batch_.good;
  batch_.good_tokens += timing.completion_tokens;
}

void TrialRecorder::close_batch() {
  batch_.seconds = to_seconds(last_ - batch_begin_);
  pending_.batches = {batch_};
  pending_.measured_s = batch_.seconds;
  const double settle_s = trial_.settle_s;
  const std::string first_error = trial_.first_error;
  trial_ = merged({trial_, pending_});
  trial_.settle_s = settle_s;
  trial_.first_error = first_error;
  pending_ = {};
  batch_ = {};
  batch_begin_ = last_;
}

void TrialRecorder::add(const Fullness& fullness) {
  if (has_settled_) fullness_.push_back(fullness);
}

Trial TrialRecorder::trial() const {
  Trial trial = trial_;
  trial.slip_p99_ms = summarize(slips_ms_).p99;
  if (fullness_.empty()) return trial;
  for (const Fullness& fullness : fullness_) {
    trial.kv_used_share += fullness.kv_used;
    trial.kv_reserved_share += fullness.kv_reserved;
    trial.running_mean += fullness.running;
    trial.kv_used_share_max = std::max(trial.kv_used_share_max, fullness.kv_used);
  }
  // Once: a mean of fours is four.
  for (const auto figure : {&Trial::kv_used_share, &Trial::kv_reserved_share, &Trial::running_mean}) {
    trial.*figure /= static_cast<double>(fullness_.size());
  }
  return trial;
}

}  // namespace sluice::bench
