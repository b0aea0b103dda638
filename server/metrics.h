#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/machine_limits.h"
#include "scheduler/loop_stats.h"
#include "scheduler/token_event.h"
#include "server/metric_bounds.h"
#include "server/request_end.h"

namespace sluice::server {

class SpanExporter;

/// What metrics say of the daemon that doesn't change while it serves.
struct MetricsSetup {
  std::string version{};
  std::string model{};   ///< its name; need not be UTF-8
  std::string device{};  ///< for people
  int32_t block_size = 16;
  std::string kv_dtype = "f16";
  bool has_prefix_cache = true;
  engine::MachineLimits limits{};
  Duration stall_timeout = std::chrono::seconds(10);
  MetricBounds bounds{};
  int32_t tenants_max = 32;  ///< see TenantMetrics
  bool has_vllm_names = true;
  const SpanExporter* exporter = nullptr;  ///< lent; null: there is none
};

/// The daemon's Prometheus metrics. Thread-safe; never called on the loop thread. Gauges and loop counters are read
/// from LoopStats at scrape time, so they are right also when idle.
class Metrics {
 public:
  /// The stats are lent, and so is the clock, which is the loop's.
  Metrics(const scheduler::LoopStats& stats, const Clock& clock, MetricsSetup setup);
  ~Metrics();

  /// The first token of a request, over all its sequences, went out: time to first token, from arrival. Once per
  /// request.
  void observe_first_token(std::string_view tenant, Duration ttft);
  /// A gap between two tokens of one sequence.
  void observe_token_gap(Duration gap);
  /// A sequence ended, however it did: observes its TPOT, (last - first) / (tokens - 1), if it has two or more tokens.
  void observe_sequence(const scheduler::Ledger& ledger);
  /// An accepted request ended: where its time went, from admission on, if it came to a token; `delivery` is what its
  /// reader and connection took.
  void observe_ledger(const scheduler::Ledger& ledger, Duration delivery);
  /// A request ended; once per request, whatever its outcome. Tokens and queue time count if it was
  /// accepted; end-to-end, lengths and what was asked for are observed for stop and length only.
  void observe_request(const RequestEnd& end);

  /// The text exposition (version 0.0.4) of everything. Never contains NaN; times are in seconds.
  std::string scrape() const;

 private:
  struct Families;
  const MetricsSetup setup_;
  std::unique_ptr<Families> families_;
};

}  // namespace sluice::server
