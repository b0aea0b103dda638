#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "bench/client_cpu.h"
#include "bench/dataset.h"
#include "bench/load_generator.h"
#include "bench/measurements.h"
#include "bench/run_config.h"
#include "bench/target.h"

namespace sluice::bench {

/// How far a measurement is.
struct Progress {
  double share = 0;      ///< 0 to 1, of its requests or its seconds
  int64_t requests = 0;  ///< that have ended
};

/// What is told during a measurement, on the caller's thread. Empty functions aren't called.
struct RunHooks {
  /// After the warm-up, before the first request that counts.
  std::function<void()> on_begin = {};
  /// Each request that counts, when it has ended.
  std::function<void(const RequestOutcome&)> on_outcome = {};
  /// Several times a second. False ends this measurement at once: what is in flight is cut off and not counted.
  std::function<bool(const Progress&)> on_tick = {};
};

/// Measures loads, one after the other: "this load against this target, what comes out?" One thread owns it and waits
/// in measure().
class LoadRunner {
 public:
  /// The clock is lent, and steady.
  explicit LoadRunner(const Clock& clock, ClientCpu cpu = {})
      : clock_(clock), cpu_(std::move(cpu)), generator_(clock) {}

  /// Warms up, sends the load, waits for the last answer. Requests that fail are counted in the report;
  /// FAILED_PRECONDITION when the load can't be sent to this target at all. The load has been validated. Requests are
  /// numbered on from one measurement to the next, so with the same seed they still send different prompts.
  Result<Report> measure(const RunConfig& load, Target& target, const RunHooks& hooks = {});

  /// Any thread, any time: ends this measurement, and every later one as it begins. What was in flight is reported as
  /// interrupted.
  void stop() { generator_.stop(); }
  bool stopped() const { return generator_.stopped(); }

 private:
  Result<std::shared_ptr<const std::vector<DatasetConversation>>> dataset_of(const RunConfig& load);

  const Clock& clock_;
  const ClientCpu cpu_;
  // Read once, however many measurements use it.
  std::string dataset_path_;
  std::shared_ptr<const std::vector<DatasetConversation>> dataset_;
  LoadGenerator generator_;
};

}  // namespace sluice::bench
