#include "server/metrics.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "engine/utf8.h"
#include "server/loop_metrics.h"
#include "server/metric_families.h"
#include "server/span_exporter.h"
#include "server/step_metrics.h"
#include "server/tenant_metrics.h"
#include "server/vllm_metrics.h"

namespace sluice::server {
namespace {

/// Seconds, never below zero: the two moments may come from different threads' clock readings.
double seconds(Duration duration) {
  return to_seconds(std::max(duration, Duration::zero()));
}

prometheus::Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help,
                                 const MetricBounds::Bounds& bounds) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, bounds);
}

prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

std::vector<prometheus::MetricFamily> exporter_metrics(const SpanExporter& exporter) {
  return {counter_family("sluice_traces_exported_total", "Requests whose spans the collector took.",
                         {counter_value(static_cast<double>(exporter.exported()))}),
          counter_family("sluice_traces_dropped_total", "Requests whose spans it did not take, or that did not fit.",
                         {counter_value(static_cast<double>(exporter.dropped()))})};
}

/// One byte of a model file's name that is no UTF-8 would make Prometheus drop the whole scrape.
MetricsSetup sanitized(MetricsSetup setup) {
  for (std::string* const text : {&setup.version, &setup.model, &setup.device}) *text = engine::sanitize_utf8(*text);
  return setup;
}

}  // namespace

struct Metrics::Families {
  Families(const scheduler::LoopStats& lent_stats, const Clock& lent_clock, const MetricsSetup& setup)
      : stats(lent_stats),
        clock(lent_clock),
        bounds(setup.bounds),
        tenants(registry, setup.tenants_max, setup.bounds.time_to_first_token) {
    auto& requests = prometheus::BuildCounter()
                         .Name("sluice_requests_total")
                         .Help("Requests that ended, by how they did.")
                         .Register(registry);
    // All outcomes are there from the start: a rate over a series that appears with its first event misses that event.
    for (const Outcome outcome : kOutcomes)
      outcomes.push_back(&requests.Add({{"outcome", std::string(outcome_name(outcome))}}));
  }

  const scheduler::LoopStats& stats;
  const Clock& clock;
  const MetricBounds& bounds;
  prometheus::Registry registry;
  TenantMetrics tenants;
  std::vector<prometheus::Counter*> outcomes;  // in the order of Outcome

  prometheus::Histogram& first_token = histogram(registry, "sluice_time_to_first_token_seconds",
                                                 "From a request's arrival to its first token, in seconds, queue "
                                                 "included.",
                                                 bounds.time_to_first_token);
  prometheus::Histogram& per_output_token =
      histogram(registry, "sluice_time_per_output_token_seconds",
                "(last - first token) / (tokens - 1) of a sequence that ended with two tokens or more, in seconds.",
                bounds.time_per_output_token);
  prometheus::Histogram& token_gap =
      histogram(registry, "sluice_inter_token_latency_seconds",
                "Each gap between two tokens of a sequence, in seconds.", bounds.inter_token_latency);
  prometheus::Histogram& queue = histogram(
      registry, "sluice_request_queue_seconds",
      "From a request's arrival to its admission, or to its end when it was never admitted, in seconds.", bounds.queue);
  prometheus::Histogram& prefill =
      histogram(registry, "sluice_request_prefill_seconds",
                "From a request's admission to its first token, in seconds.", bounds.prefill);
  prometheus::Histogram& decode =
      histogram(registry, "sluice_request_decode_seconds",
                "After its first token, in steps that computed decode rows only, in seconds.", bounds.decode);
  prometheus::Histogram& interference =
      histogram(registry, "sluice_request_interference_seconds",
                "After its first token, in steps that also computed somebody's prompt, in seconds.", bounds.decode);
  prometheus::Histogram& pause =
      histogram(registry, "sluice_request_pause_seconds",
                "After its first token, left out of steps for want of KV blocks, in seconds.", bounds.decode);
  prometheus::Histogram& generation = histogram(
      registry, "sluice_request_generation_seconds",
      "From its first token to its last: decode, interference and pause together, in seconds.", bounds.decode);
  prometheus::Histogram& inference = histogram(
      registry, "sluice_request_inference_seconds",
      "From its admission to its last token: prefill and generation together, in seconds.", bounds.end_to_end);
  prometheus::Histogram& delivery = histogram(
      registry, "sluice_request_delivery_seconds",
      "From its last token computed to its end told: what its reader and connection took, in seconds.", bounds.decode);
  prometheus::Histogram& end_to_end =
      histogram(registry, "sluice_request_end_to_end_seconds",
                "From a request's arrival to its end, in seconds; requests that ran to a stop or to their length.",
                bounds.end_to_end);
  prometheus::Counter& prompt_tokens =
      counter(registry, "sluice_prompt_tokens_total", "Prompt tokens of requests that ended after being accepted.");
  prometheus::Counter& generated_tokens = counter(registry, "sluice_generated_tokens_total",
                                                  "Tokens answered to requests that ended after being accepted.");
  // Of requests that ran to a stop or to their length.
  prometheus::Histogram& prompt_length =
      histogram(registry, "sluice_request_prompt_tokens", "Tokens of a request's prompt.", bounds.tokens);
  prometheus::Histogram& computed_length =
      histogram(registry, "sluice_request_computed_prompt_tokens",
                "Tokens of a request's prompt that were not found in the prefix cache.", bounds.tokens);
  prometheus::Histogram& output_length =
      histogram(registry, "sluice_request_output_tokens", "Tokens answered, over all choices.", bounds.tokens);
  prometheus::Histogram& max_tokens =
      histogram(registry, "sluice_request_max_tokens", "Tokens that a choice was allowed.", bounds.tokens);
  prometheus::Histogram& choices =
      histogram(registry, "sluice_request_choices", "Choices asked for (n).", {1, 2, 5, 10, 20});
};

Metrics::Metrics(const scheduler::LoopStats& stats, const Clock& clock, MetricsSetup setup)
    : setup_(sanitized(std::move(setup))), families_(std::make_unique<Families>(stats, clock, setup_)) {
  prometheus::BuildGauge()
      .Name("sluice_build_info")
      .Help("Always 1; what runs is in the labels.")
      .Register(families_->registry)
      .Add({{"version", setup_.version}, {"model", setup_.model}, {"device", setup_.device}})
      .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::observe_first_token(std::string_view tenant, Duration ttft) {
  families_->first_token.Observe(seconds(ttft));
  families_->tenants.observe_first_token(tenant, ttft);
}

void Metrics::observe_token_gap(Duration gap) {
  families_->token_gap.Observe(seconds(gap));
}

void Metrics::observe_sequence(const scheduler::Ledger& ledger) {
  if (ledger.output_tokens < 2) return;
  families_->per_output_token.Observe(seconds(ledger.last_token - ledger.first_token) / (ledger.output_tokens - 1));
}

void Metrics::observe_ledger(const scheduler::Ledger& ledger, Duration delivery) {
  families_->delivery.Observe(seconds(delivery));
  if (ledger.output_tokens == 0) return;
  families_->prefill.Observe(seconds(ledger.prefill));
  families_->decode.Observe(seconds(ledger.decode));
  families_->interference.Observe(seconds(ledger.interference));
  families_->pause.Observe(seconds(ledger.pause));
  families_->generation.Observe(seconds(ledger.decode + ledger.interference + ledger.pause));
  families_->inference.Observe(seconds(ledger.prefill + ledger.decode + ledger.interference + ledger.pause));
}

void Metrics::observe_request(const RequestEnd& end) {
  Families& families = *families_;
  families.outcomes[static_cast<size_t>(end.outcome)]->Increment();
  if (end.tenant) {
    families.tenants.observe_request(*end.tenant, end);
  }
  if (!end.was_accepted) return;
  families.prompt_tokens.Increment(end.prompt_tokens);
  families.generated_tokens.Increment(end.output_tokens);
  families.queue.Observe(seconds(end.queue));
  if (end.outcome != Outcome::kStop && end.outcome != Outcome::kLength) return;
  families.end_to_end.Observe(seconds(end.end_to_end));
  families.prompt_length.Observe(end.prompt_tokens);
  families.computed_length.Observe(end.prompt_tokens - end.cached_tokens);
  families.output_length.Observe(end.output_tokens);
  families.max_tokens.Observe(end.max_tokens);
  families.choices.Observe(end.choices);
}

std::string Metrics::scrape() const {
  std::vector<prometheus::MetricFamily> families = families_->registry.Collect();
  std::ranges::move(loop_metrics(families_->stats, families_->clock.now()), std::back_inserter(families));
  std::ranges::move(step_metrics(families_->stats.step, setup_.limits), std::back_inserter(families));
  families.push_back(gauge_family("sluice_stall_timeout_seconds",
                                  "A tick that runs longer makes the daemon unhealthy (server.stall_timeout_ms).",
                                  {gauge_value(to_seconds(setup_.stall_timeout))}));
  if (setup_.exporter != nullptr) std::ranges::move(exporter_metrics(*setup_.exporter), std::back_inserter(families));
  if (setup_.has_vllm_names) {
    const VllmLabels labels{.model_name = setup_.model,
                            .block_size = setup_.block_size,
                            .block_count = families_->stats.blocks_total.load(std::memory_order_relaxed),
                            .cache_dtype = setup_.kv_dtype,
                            .has_prefix_cache = setup_.has_prefix_cache};
    std::ranges::move(vllm_metrics(families, labels), std::back_inserter(families));
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

}  // namespace sluice::server
