#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "server/metric_bounds.h"
#include "server/outcome.h"
#include "server/request_end.h"

namespace sluice::server {

/// Requests, tokens and time to first token by tenant. The first `tenants_max` tenants with an accepted
/// request have a label of their own, all others are "other" together: whoever may name tenants must not be able to
/// fill Prometheus. No name at all is "default". Thread-safe.
class TenantMetrics {
 public:
  /// The registry is lent. 0 tenants: all are "other".
  TenantMetrics(prometheus::Registry& registry, int32_t tenants_max, MetricBounds::Bounds first_token_bounds);

  void observe_first_token(std::string_view tenant, Duration ttft);
  void observe_request(std::string_view tenant, const RequestEnd& end);

 private:
  struct Series {
    std::array<prometheus::Counter*, kOutcomes.size()> requests{};  // in the order of Outcome
    prometheus::Counter* prompt_tokens = nullptr;
    prometheus::Counter* output_tokens = nullptr;
    prometheus::Histogram* first_token = nullptr;
  };

  Series& series_of(std::string_view tenant, bool may_be_new) SLUICE_REQUIRES(mutex_);
  Series make_series(const std::string& label);

  const size_t tenants_max_;
  const MetricBounds::Bounds bounds_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Counter>& tokens_;
  prometheus::Family<prometheus::Histogram>& first_token_;
  Mutex mutex_;
  std::map<std::string, Series, std::less<>> tenants_ SLUICE_GUARDED_BY(mutex_);
  Series other_;
};

}  // namespace sluice::server
