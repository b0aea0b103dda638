#include "bench/load_runner.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "bench/pacer.h"
#include "bench/workload.h"

namespace sluice::bench {
namespace {

using Dataset = std::vector<DatasetConversation>;

/// Past this share of its processors a client's own work delays what it measures.
constexpr double kCpuShareMax = 0.9;

Duration to_duration(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

RateProfile profile_of(const RunConfig& load) {
  if (load.rate) return RateProfile::constant(*load.rate);
  if (load.ramp) return RateProfile::ramp(load.ramp->begin, load.ramp->end, *load.seconds);
  return RateProfile::of(load.steps);
}

std::unique_ptr<Pacer> make_pacer(const RunConfig& load, TimePoint start) {
  if (load.concurrency) return std::make_unique<ClosedLoop>(*load.concurrency, start);
  if (load.trace) {
    std::vector<Duration> times;
    std::transform(load.trace->begin(), load.trace->end(), std::back_inserter(times),
                   [&load](const auto& traced) { return to_duration(to_seconds(traced.at) / load.trace_speed); });
    return std::make_unique<GivenTimes>(std::move(times), start, load.in_flight_max);
  }
  const Regularity regularity{.burstiness = load.burstiness.value_or(1), .is_constant = load.has_constant_gaps};
  return std::make_unique<OpenLoop>(profile_of(load), regularity, load.seed, start, load.in_flight_max);
}

std::optional<TimePoint> end_of_sending(const RunConfig& load, TimePoint start) {
  return load.seconds ? std::optional(start + to_duration(*load.seconds)) : std::nullopt;
}

double share_done(const RunConfig& load, int64_t requests_done, Duration elapsed) {
  if (load.requests) return static_cast<double>(requests_done) / static_cast<double>(*load.requests);
  if (load.trace) return static_cast<double>(requests_done) / static_cast<double>(load.trace->size());
  return to_seconds(elapsed) / load.seconds.value_or(RateProfile::of(load.steps).seconds());
}

void warm_up(const RunConfig& load, const Workload& workload, Target& target, LoadGenerator& generator, TimePoint now) {
  ClosedLoop pacer(load.concurrency.value_or(1), now);
  Phase phase{.workload = workload,
              .pacer = pacer,
              .requests = load.warmup,
              .end = {},
              .on_outcome = [](const RequestOutcome&) {},
              .on_tick = [] { return true; }};
  generator.run(target, phase);
}

/// Why the client was the limit, or nothing.
std::string limit_of(const ClientLoad& client, const RunConfig& load) {
  std::ostringstream why;
  why.precision(3);
  if (client.slip_p99_ms > load.slip_limit_ms) {
    why << "1 % of the requests were sent " << client.slip_p99_ms << " ms or more after they were due, which is above "
        << load.slip_limit_ms << " ms (--slip-limit-ms)";
  } else if (client.cpu_share > kCpuShareMax) {
    why << "the client used " << 100 * client.cpu_share << " % of the processor time it can";
  }
  return why.str();
}

}  // namespace

Result<std::shared_ptr<const Dataset>> LoadRunner::dataset_of(const RunConfig& load) {
  if (load.dataset_path.empty()) return std::shared_ptr<const Dataset>();
  if (load.dataset_path != dataset_path_) {
    SLUICE_ASSIGN_OR_RETURN(Dataset dataset, read_dataset(load.dataset_path));
    dataset_ = std::make_shared<const Dataset>(std::move(dataset));
    dataset_path_ = load.dataset_path;
  }
  return dataset_;
}

Result<Report> LoadRunner::measure(const RunConfig& load, Target& target, const RunHooks& hooks) {
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> dataset, dataset_of(load));
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Workload> workload, make_workload(load, target, std::move(dataset)));
  warm_up(load, *workload, target, generator_, clock_.now());
  if (hooks.on_begin) hooks.on_begin();
  Measurements measurements(load.slo);
  const Duration cpu_before = cpu_.used_now();
  const TimePoint start = clock_.now();
  bool was_ended_early = false;
  const auto on_outcome = [&](const RequestOutcome& outcome) {
    const bool was_cancelled = outcome.failure && outcome.failure->status.code() == StatusCode::kCancelled;
    if (was_cancelled && (was_ended_early || generator_.stopped())) return measurements.add_interrupted();
    measurements.add(outcome);
    if (hooks.on_outcome) hooks.on_outcome(outcome);
  };
  const auto on_tick = [&] {
    const Progress progress{.share = share_done(load, measurements.count(), clock_.now() - start),
                            .requests = measurements.count()};
    was_ended_early = was_ended_early || (hooks.on_tick && !hooks.on_tick(progress));
    return !was_ended_early;
  };
  const std::unique_ptr<Pacer> pacer = make_pacer(load, start);
  Phase phase{.workload = *workload,
              .pacer = *pacer,
              .requests = load.requests,
              .numbers_align = load.trace ? load.trace->size() : 1,
              .end = end_of_sending(load, start),
              .has_turns = load.turns > 1,
              .think = to_duration(load.think_seconds),
              .on_outcome = on_outcome,
              .on_tick = on_tick};
  generator_.run(target, phase);
  const Duration duration = clock_.now() - start;
  Report report = measurements.report(duration);
  const int cores = target.is_read_by_one_thread() ? 1 : cpu_.cores;
  if (duration > Duration::zero())
    report.client.cpu_share = to_seconds(cpu_.used_now() - cpu_before) / to_seconds(duration) / cores;
  report.client.limited_because = limit_of(report.client, load);
  return report;
}

}  // namespace sluice::bench
