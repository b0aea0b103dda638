#include "bench/admission/saturation.h"

#include <algorithm>
#include <vector>

namespace sluice::bench {
namespace {

double p99_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(0.99 * static_cast<double>(values.size()));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

SaturationFigures figures_of(const simulation::ReplayReport& report, uint64_t left_out) {
  SaturationFigures figures;
  std::vector<double> gaps;
  std::vector<double> tpots;
  int64_t tokens = 0;
  int64_t paused = 0;
  for (size_t index = left_out; index < report.requests.size(); ++index) {
    const simulation::ReplayedRequest& request = report.requests[index];
    if (!request.ttft) continue;
    gaps.push_back(to_milliseconds(request.longest_gap));
    paused += request.was_paused ? 1 : 0;
    if (request.end != simulation::ReplayedRequest::End::kFinished) continue;
    ++figures.finished;
    tokens += request.output_tokens;
    if (request.output_tokens > 1) {
      tpots.push_back(to_milliseconds(*request.last - *request.ttft) / (request.output_tokens - 1));
    }
  }
  figures.tokens_per_ms = static_cast<double>(tokens) / to_milliseconds(report.duration);
  figures.rows = static_cast<double>(report.decode_rows) / static_cast<double>(report.steps);
  figures.paused_share = gaps.empty() ? 0 : static_cast<double>(paused) / static_cast<double>(gaps.size());
  figures.tpot_p99_ms = p99_of(std::move(tpots));
  figures.gap_p99_ms = p99_of(std::move(gaps));
  return figures;
}

}  // namespace

SaturationFigures saturate(const LoadMix& mix, const SaturationConfig& config, const std::string& policy) {
  simulation::ReplayConfig replay;
  replay.scheduler.max_running = config.max_running;
  replay.scheduler.max_queued_requests = 32;
  replay.scheduler.tokens_per_step = config.tokens_per_step;
  replay.scheduler.admission = policy;
  replay.block_count = config.block_count;
  replay.block_size = config.block_size;
  replay.shares_prefixes = mix.shares_prefixes;
  replay.prices = config.prices;
  replay.host_time = config.host_time;
  replay.steps_ahead = config.steps_ahead;
  replay.waits_for_room = true;
  replay.steps_max = config.steps;
  return figures_of(
      simulation::replay([&](uint64_t index) { return std::optional(mix.arrival(config.seed, index)); }, replay),
      config.arrivals_left_out);
}

SaturationFigures mean_of(const std::vector<SaturationFigures>& runs) {
  SaturationFigures mean;
  for (const SaturationFigures& run : runs) {
    const double weight = 1.0 / static_cast<double>(runs.size());
    mean.tokens_per_ms += weight * run.tokens_per_ms;
    mean.rows += weight * run.rows;
    mean.tpot_p99_ms += weight * run.tpot_p99_ms;
    mean.gap_p99_ms += weight * run.gap_p99_ms;
    mean.paused_share += weight * run.paused_share;
    mean.finished += run.finished;
    mean.computed_twice += run.computed_twice;
  }
  return mean;
}

}  // namespace sluice::bench
