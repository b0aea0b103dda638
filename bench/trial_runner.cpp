#include "bench/trial_runner.h"

#include <algorithm>
#include <cmath>

namespace sluice::bench {
namespace {

constexpr int64_t kBatchMin = 8;
constexpr int32_t kOpenLoopBatch = 16;
constexpr double kMarginS = 60;  // the trial is ended by its owner, not by the load's own end

int64_t batch_size(const TrialPoint& point) {
  if (!point.concurrency) return kOpenLoopBatch;
  const int64_t turn = *point.concurrency;
  return turn * ((kBatchMin + turn - 1) / turn);
}

}  // namespace

RunConfig TrialRunner::load_of(const TrialPoint& point, const TrialLength& length) {
  RunConfig load = load_;
  load.concurrency = point.concurrency;
  load.rate = point.rate;
  load.requests = std::nullopt;
  load.seconds = to_seconds(length.time_max) + kMarginS;
  if (is_warm_) load.warmup = 0;
  is_warm_ = true;
  return load;
}

Result<Trial> TrialRunner::run(const TrialPoint& point, const TrialLength& length) {
  if (parts_.runner.stopped()) return Status(StatusCode::kCancelled, "interrupted");
  const TimePoint deadline = parts_.clock.now() + length.time_max;
  if (point.limits && parts_.limits != nullptr) SLUICE_RETURN_IF_ERROR(parts_.limits->set(*point.limits));
  const int64_t settle_count = point.concurrency.value_or(kOpenLoopBatch);
  TrialRecorder recorder(slo_, settle_count, batch_size(point), parts_.clock.now());
  const auto on_begin = [&] { recorder.begin(parts_.clock.now()); };
  bool is_over = false;
  const auto on_outcome = [&](const RequestOutcome& outcome) {
    if (is_over) return;
    const size_t batches = recorder.batches().size();
    recorder.add(outcome);
    const bool has_new_batch = recorder.batches().size() > batches;
    is_over = recorder.nothing_works() || (has_new_batch && length.is_decided(recorder.batches()));
  };
  const auto on_tick = [&](const Progress&) {
    if (parts_.on_tick) parts_.on_tick();
    if (parts_.fullness) {
      if (const std::optional<Fullness> fullness = parts_.fullness()) recorder.add(*fullness);
    }
    return !is_over && parts_.clock.now() < deadline;
  };
  SLUICE_ASSIGN_OR_RETURN(const Report report,
                          parts_.runner.measure(load_of(point, length), parts_.target,
                                                {.on_begin = on_begin, .on_outcome = on_outcome, .on_tick = on_tick}));
  if (parts_.runner.stopped()) return Status(StatusCode::kCancelled, "interrupted");
  if (recorder.nothing_works()) return unavailable("every request failed: " + recorder.trial().first_error);
  Trial trial = recorder.trial();
  trial.client_limit = report.client.limited_because;
  return trial;
}

}  // namespace sluice::bench
