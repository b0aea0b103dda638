#include "bench/experiments/batch_size_collapse.h"

#include <algorithm>
#include <cmath>

#include "base/counter_random.h"
#include "bench/experiments/naive_server.h"
#include "bench/summary.h"

namespace sluice::bench {
namespace {

Status check(const char* option, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return invalid_field(option, "must be " + std::to_string(static_cast<int64_t>(low)) + " to " +
                                   std::to_string(static_cast<int64_t>(high)));
}

int32_t blocks_for(const CollapseConfig& config, int32_t tokens) {
  return (tokens + config.block_size - 1) / config.block_size;
}

std::vector<simulation::TracedArrival> arrivals_of(const CollapseConfig& config) {
  std::vector<simulation::TracedArrival> arrivals;
  double at_s = 0;
  for (uint64_t index = 0; arrivals.size() < static_cast<size_t>(config.requests); ++index) {
    at_s += -std::log(1 - random_unit(config.seed, 2 * index)) / config.rate;
    simulation::TracedArrival arrival;
    arrival.at = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(at_s));
    const double share = 0.5 + random_unit(config.seed, 2 * index + 1);
    arrival.prompt_tokens = std::max(1, static_cast<int32_t>(share * config.prompt_tokens));
    arrival.max_tokens = arrival.output_tokens = config.output_tokens;
    arrivals.push_back(arrival);
  }
  return arrivals;
}

CollapseFigures figures_of(const simulation::ReplayReport& report, int32_t max_running) {
  using End = simulation::ReplayedRequest::End;
  CollapseFigures figures{.max_running = max_running, .seconds = to_seconds(report.duration)};
  std::vector<double> ttft;
  std::vector<double> gap;
  std::vector<double> e2e;
  int64_t tokens = 0;
  for (const simulation::ReplayedRequest& request : report.requests) {
    if (request.end == End::kRefused) ++figures.refused;
    if (request.end != End::kFinished) continue;
    ++figures.finished;
    tokens += request.output_tokens;
    ttft.push_back(to_milliseconds(*request.ttft));
    gap.push_back(to_milliseconds(request.longest_gap));
    e2e.push_back(to_milliseconds(*request.last));
  }
  const Summary ttft_ms = summarize(ttft);
  figures.ttft_p50_ms = ttft_ms.p50;
  figures.ttft_p99_ms = ttft_ms.p99;
  figures.gap_p99_ms = summarize(gap).p99;
  figures.e2e_p99_ms = summarize(e2e).p99;
  figures.tokens_per_s = figures.seconds > 0 ? static_cast<double>(tokens) / figures.seconds : 0;
  return figures;
}

CollapseFigures naive_with(const CollapseConfig& config, const simulation::ArrivalSource& arrivals, int32_t running) {
  const NaiveReport report = run_naive(arrivals, {.max_running = running,
                                                  .max_queued_requests = config.max_queued_requests,
                                                  .tokens_per_step = config.tokens_per_step,
                                                  .block_count = config.block_count,
                                                  .block_size = config.block_size,
                                                  .prices = config.prices});
  CollapseFigures figures = figures_of(report.replay, running);
  figures.evictions = report.evictions;
  figures.computed_twice = report.computed_twice;
  return figures;
}

CollapseFigures plan_with(const CollapseConfig& config, const simulation::ArrivalSource& arrivals, int32_t running) {
  simulation::ReplayConfig replay;
  replay.scheduler.max_running = running;
  replay.scheduler.max_queued_requests = config.max_queued_requests;
  replay.scheduler.tokens_per_step = config.tokens_per_step;
  replay.scheduler.admission = "plan";
  replay.block_count = config.block_count;
  replay.block_size = config.block_size;
  replay.shares_prefixes = false;
  replay.prices = config.prices;
  return figures_of(simulation::replay(arrivals, replay), running);
}

}  // namespace

scheduler::StepPrices CollapseConfig::measured_prices() {
  return {.fixed_ms = 1.462, .prefill_token_ms = 0.2536, .decode_row_ms = 0.5827, .context_token_ms = 0.001383};
}

Status CollapseConfig::validate() const {
  SLUICE_RETURN_IF_ERROR(check("--rate", rate, 1e-3, 1e6));
  SLUICE_RETURN_IF_ERROR(check("--requests", requests, 1, 1e6));
  SLUICE_RETURN_IF_ERROR(check("--prompt-tokens", prompt_tokens, 1, 1e6));
  SLUICE_RETURN_IF_ERROR(check("--output-tokens", output_tokens, 1, 1e6));
  SLUICE_RETURN_IF_ERROR(check("--max-queued-requests", max_queued_requests, 0, 1e6));
  SLUICE_RETURN_IF_ERROR(check("--block-size", block_size, 1, 1024));
  SLUICE_RETURN_IF_ERROR(check("--blocks", block_count, 1, 1 << 20));
  if (max_running.empty()) return invalid_field("--max-running", "must have at least one number");
  for (const int32_t running : max_running) {
    SLUICE_RETURN_IF_ERROR(check("--max-running", running, 1, scheduler::SchedulerConfig::kMaxRunningMax));
    SLUICE_RETURN_IF_ERROR(check("--tokens-per-step", tokens_per_step, running, 1 << 20));
  }
  if (blocks_for(*this, prompt_tokens * 3 / 2 + output_tokens) > block_count) {
    return invalid_field("--blocks", "must hold the longest request");
  }
  return {};
}

int32_t rows_that_fit(const CollapseConfig& config) {
  return config.block_count / blocks_for(config, config.prompt_tokens + config.output_tokens);
}

CollapseResult run_collapse(const CollapseConfig& config) {
  const std::vector<simulation::TracedArrival> all = arrivals_of(config);
  const simulation::ArrivalSource arrivals = [&all](uint64_t index) {
    return index < all.size() ? std::optional(all[index]) : std::nullopt;
  };
  CollapseResult result;
  for (const int32_t running : config.max_running) {
    result.naive.push_back(naive_with(config, arrivals, running));
    result.plan.push_back(plan_with(config, arrivals, running));
  }
  return result;
}

}  // namespace sluice::bench
