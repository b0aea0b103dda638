#include "server/tenant_metrics.h"

#include <algorithm>
#include <utility>

#include "engine/utf8.h"

namespace sluice::server {

TenantMetrics::TenantMetrics(prometheus::Registry& registry, int32_t tenants_max,
                             MetricBounds::Bounds first_token_bounds)
    : tenants_max_(static_cast<size_t>(tenants_max)),
      bounds_(std::move(first_token_bounds)),
      requests_(prometheus::BuildCounter()
                    .Name("sluice_tenant_requests_total")
                    .Help("Requests that ended, by tenant and by how they did.")
                    .Register(registry)),
      tokens_(prometheus::BuildCounter()
                  .Name("sluice_tenant_tokens_total")
                  .Help("Tokens of requests that ended after being accepted, by tenant; kind is prompt or output.")
                  .Register(registry)),
      first_token_(prometheus::BuildHistogram()
                       .Name("sluice_tenant_time_to_first_token_seconds")
                       .Help("From a request's arrival to its first token, in seconds, by tenant.")
                       .Register(registry)),
      other_(make_series("other")) {}

void TenantMetrics::observe_first_token(std::string_view tenant, Duration ttft) {
  const MutexLock lock(mutex_);
  series_of(tenant, true).first_token->Observe(to_seconds(std::max(ttft, Duration::zero())));
}

void TenantMetrics::observe_request(std::string_view tenant, const RequestEnd& end) {
  const MutexLock lock(mutex_);
  const Series& series = series_of(tenant, end.was_accepted);
  series.requests[static_cast<size_t>(end.outcome)]->Increment();
  if (!end.was_accepted) return;
  series.prompt_tokens->Increment(end.prompt_tokens);
  series.output_tokens->Increment(end.output_tokens);
}

TenantMetrics::Series& TenantMetrics::series_of(std::string_view tenant, bool may_be_new) {
  if (const auto found = tenants_.find(tenant); found != tenants_.end()) return found->second;
  // A tenant called as one of our own labels is counted there.
  if (!may_be_new || tenants_.size() >= tenants_max_ || tenant == "other") return other_;
  return tenants_.emplace(tenant, make_series(tenant.empty() ? "default" : engine::sanitize_utf8(tenant)))
      .first->second;
}

TenantMetrics::Series TenantMetrics::make_series(const std::string& label) {
  Series series;
  for (const Outcome outcome : kOutcomes) {
    series.requests[static_cast<size_t>(outcome)] =
        &requests_.Add({{"tenant", label}, {"outcome", std::string(outcome_name(outcome))}});
  }
  series.prompt_tokens = &tokens_.Add({{"tenant", label}, {"kind", "prompt"}});
  series.output_tokens = &tokens_.Add({{"tenant", label}, {"kind", "output"}});
  series.first_token = &first_token_.Add({{"tenant", label}}, bounds_);
  return series;
}

}  // namespace sluice::server
