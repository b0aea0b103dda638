#include "server/serving_core.h"

#include <utility>

namespace sluice::server {

namespace {

Status shutdown_status() {
  return unavailable("the daemon is shutting down and its drain time is over");
}

MetricsSetup metrics_setup(const Config& config, const ServingCoreParts& parts) {
  const ServedModel& model = parts.model;
  Result<MetricBounds> bounds = metric_bounds(config.metrics);
  SLUICE_CHECK(bounds.ok());  // Config::validate() has seen them
  return {.version = model.version,
          .model = model.name,
          .device = model.device,
          .block_size = config.kv.block_size,
          .kv_dtype = config.kv.dtype,
          .has_prefix_cache = config.kv.prefix_cache,
          .limits = model.limits,
          .stall_timeout = std::chrono::milliseconds(config.server.stall_timeout_ms),
          .bounds = std::move(bounds).value(),
          .tenants_max = config.metrics.max_tenants,
          .has_vllm_names = config.metrics.vllm_names,
          .exporter = parts.exporter};
}

}  // namespace

ServingCore::ServingCore(const Config& config, const ServingCoreParts& parts)
    : clock_(parts.clock),
      stall_timeout_(std::chrono::milliseconds(config.server.stall_timeout_ms)),
      hasher_(parts.cache_secret, parts.model.name),
      pool_(parts.block_count, parts.growth),
      scheduler_(config.scheduler, pool_, hasher_, config.kv.reuse_outputs),
      mailbox_(int64_t{config.scheduler.max_running} + config.scheduler.max_queued_requests),
      metrics_(stats_, parts.clock, metrics_setup(config, parts)),
      intake_(parts.model, parts.access,
              {*parts.model.tokenizer, mailbox_, metrics_, parts.clock, parts.journal, &recent_,
               parts.exporter == nullptr ? 0 : config.tracing.sample_ratio},
              PromptKeys(hasher_, {.block_size = config.kv.block_size,
                                   .is_enabled = config.kv.prefix_cache,
                                   .shares_across_tenants = config.kv.share_across_tenants}),
              streams_, stats_, parts.seed),
      limits_(config.scheduler, mailbox_, parts.logger),
      front_{.intake = intake_,
             .stats = stats_,
             .live_calls = live_calls_,
             .wall_clock = parts.wall_clock,
             .limits = limits_,
             .chat_prompter = parts.chat_prompter,
             .block_size = config.kv.block_size,
             .stream_buffer_tokens = config.server.stream_buffer_tokens,
             .message_bytes_max = int64_t{config.server.max_message_mib} << 20},
      loop_(scheduler_, parts.executor, mailbox_, streams_, parts.clock, stats_),
      loop_thread_([this] { loop_.run(); }) {}

ServingCore::~ServingCore() {
  // The loop ends once the mailbox is closed and empty and no request is alive; what it delivers last still finds the
  // stream pool.
  intake_.close();
  fail_all();
  loop_thread_.join();
}

Health ServingCore::health() const {
  return assess_health(stats_, clock_.now(), stall_timeout_);
}

bool ServingCore::drain(TimePoint deadline, TimePoint last_deadline) {
  intake_.close();
  if (streams_.wait_empty_until(deadline) && live_calls_.wait_none_until(deadline)) return true;
  fail_all();
  live_calls_.wait_none_until(last_deadline);
  return false;
}

void ServingCore::fail_all() {
  // In this order: a request that was still being read when the doors closed must not be posted behind the failure.
  mailbox_.close();
  mailbox_.post(scheduler::FailAll{shutdown_status()});
}

}  // namespace sluice::server
