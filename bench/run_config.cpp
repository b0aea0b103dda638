#include "bench/run_config.h"

#include <cmath>

#include "base/tenant_name.h"

namespace sluice::bench {
namespace {

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

Status validate_loop(const RunConfig& config) {
  if (config.concurrency.has_value() == config.rate.has_value()) {
    return invalid_argument("give one of --concurrency (closed loop) and --rate (open loop)");
  }
  if (config.concurrency && *config.concurrency < 1) return invalid_field("--concurrency", "must be at least 1");
  if (config.rate && !is_positive(*config.rate)) return invalid_field("--rate", "must be above 0");
  if (config.in_flight_max < 1) return invalid_field("--in-flight-max", "must be at least 1");
  return {};
}

Status validate_length(const RunConfig& config) {
  if (config.requests.has_value() == config.seconds.has_value())
    return invalid_argument("give one of --requests and --seconds");
  if (config.requests && *config.requests < 1) return invalid_field("--requests", "must be at least 1");
  if (config.seconds && !is_positive(*config.seconds)) return invalid_field("--seconds", "must be above 0");
  if (config.warmup < 0) return invalid_field("--warmup", "must not be negative");
  return {};
}

}  // namespace

Status RunConfig::validate() const {
  SLUICE_RETURN_IF_ERROR(validate_loop(*this));
  SLUICE_RETURN_IF_ERROR(validate_length(*this));
  if (prompt_tokens.min < 1 || prompt_tokens.max < prompt_tokens.min) {
    return invalid_field("--prompt-tokens", "must be N or N..M with 1 <= N <= M");
  }
  if (shared_prefix_tokens < 0) return invalid_field("--shared-prefix-tokens", "must not be negative");
  SLUICE_RETURN_IF_ERROR(check_tenant_name("--tenant", tenant));
  if (output_tokens < 1) return invalid_field("--output-tokens", "must be at least 1");
  return {};
}

}  // namespace sluice::bench
