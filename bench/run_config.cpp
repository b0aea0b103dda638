#include "bench/run_config.h"

#include <cmath>

#include "base/tenant_name.h"

namespace sluice::bench {
namespace {

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

Status validate_loop(const RunConfig& config) {
  const int loops = (config.concurrency ? 1 : 0) + (config.rate ? 1 : 0) + (config.ramp ? 1 : 0) +
                    (config.steps.empty() ? 0 : 1) + (config.trace ? 1 : 0);
  if (loops != 1) {
    return invalid_argument("give one of --concurrency (closed loop), --rate, --ramp and --steps (open loop)");
  }
  if (config.concurrency && *config.concurrency < 1) return invalid_field("--concurrency", "must be at least 1");
  if (config.rate && !is_positive(*config.rate)) return invalid_field("--rate", "must be above 0");
  if (config.in_flight_max < 1) return invalid_field("--in-flight-max", "must be at least 1");
  if (!is_positive(config.trace_speed)) return invalid_field("--speed", "must be above 0");
  return {};
}

Status validate_regularity(const RunConfig& config) {
  if (!config.burstiness && !config.has_constant_gaps) return {};
  if (config.is_closed() || config.trace) {
    return invalid_argument("--burstiness and --constant are of arrivals at a rate");
  }
  if (config.burstiness && config.has_constant_gaps) return invalid_argument("give one of --burstiness and --constant");
  if (config.burstiness && (!is_positive(*config.burstiness) || *config.burstiness > 1000)) {
    return invalid_field("--burstiness", "must be above 0 and at most 1000");
  }
  return {};
}

Status validate_end(const RunConfig& config) {
  const bool ends_itself = !config.steps.empty() || config.trace;
  if (ends_itself && config.seconds)
    return invalid_argument("--seconds is not for --steps, which have times of their own");
  if (config.ramp && !config.seconds) return invalid_argument("--ramp needs --seconds, to know how long it takes");
  if (!ends_itself && !config.ramp && config.requests.has_value() == config.seconds.has_value()) {
    return invalid_argument("give one of --requests and --seconds");
  }
  if (config.requests && *config.requests < 1) return invalid_field("--requests", "must be at least 1");
  if (config.seconds && !is_positive(*config.seconds)) return invalid_field("--seconds", "must be above 0");
  if (config.warmup < 0) return invalid_field("--warmup", "must not be negative");
  return {};
}

Status validate_prompts(const RunConfig& config) {
  if (config.shared_prefix_tokens < 0 || config.shared_prefix_tokens > 1 << 20) {
    return invalid_field("--shared-prefix-tokens", "must be 0 to 1048576");
  }
  if (!(config.shared_prefix_share >= 0 && config.shared_prefix_share <= 1)) {
    return invalid_field("--shared-prefix-share", "must be 0 to 1");
  }
  if (config.turns < 1 || config.turns > 1000) return invalid_field("--turns", "must be 1 to 1000");
  if (!(config.think_seconds >= 0 && config.think_seconds <= 3600)) {
    return invalid_field("--think-time", "must be at most an hour");
  }
  if (config.trace && (!config.dataset_path.empty() || config.turns > 1)) {
    return invalid_argument("a trace has its own lengths and no turns: leave out --dataset and --turns");
  }
  if (!config.dataset_path.empty() && config.shared_prefix_tokens > 0) {
    return invalid_argument("--shared-prefix-tokens is of synthetic prompts: leave it out with --dataset");
  }
  return check_tenant_name("--tenant", config.tenant);
}

}  // namespace

Status RunConfig::validate() const {
  SLUICE_RETURN_IF_ERROR(validate_loop(*this));
  SLUICE_RETURN_IF_ERROR(validate_regularity(*this));
  SLUICE_RETURN_IF_ERROR(validate_end(*this));
  SLUICE_RETURN_IF_ERROR(validate_prompts(*this));
  if (!(slo_share > 0 && slo_share <= 1)) return invalid_field("--slo-share", "must be above 0 and at most 1");
  if (!is_positive(slip_limit_ms)) return invalid_field("--slip-limit-ms", "must be above 0");
  return {};
}

}  // namespace sluice::bench
