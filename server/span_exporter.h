#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/logger.h"
#include "base/mutex.h"
#include "base/status.h"
#include "server/otlp_json.h"

namespace sluice::server {

/// Sends the spans of sampled requests to a collector, some at a time, on a thread of its own. What doesn't fit into
/// its queue, or what the collector doesn't take, is dropped and counted: serving never waits for a collector.
class SpanExporter final : public RequestObserver {
 public:
  using WallClock = std::function<std::chrono::system_clock::time_point()>;
  /// Sends a body, at most for some seconds.
  using Post = std::function<Status(const std::string& body)>;

  struct Parts {
    TraceResource resource;
    Post post;
    const Clock& clock;  ///< the one that records are timed by; lent
    WallClock wall_clock;
    Logger& logger;  ///< lent; told when a collector begins or ceases to answer
    uint64_t seed = 0;
  };

  static constexpr size_t kQueueMax = 4096;  ///< requests
  static constexpr size_t kBatchMax = 256;   ///< requests in one body

  explicit SpanExporter(Parts parts);
  /// Sends what waits, as long as the collector takes it and for two seconds at most, beside the body in hand; the rest
  /// is dropped.
  ~SpanExporter() override;

  void note(const RequestRecord& record) override;

  /// Requests since start.
  uint64_t exported() const { return exported_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  void run();
  std::vector<TracedRequest> take_batch();
  void send(const std::vector<TracedRequest>& batch);

  const Parts parts_;
  std::atomic<uint64_t> exported_{0};
  std::atomic<uint64_t> dropped_{0};
  bool was_refused_ = false;  // of the last body; the sender's own

  Mutex mutex_;
  CondVar changed_;
  std::deque<TracedRequest> queue_ SLUICE_GUARDED_BY(mutex_);
  bool is_stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  TimePoint last_moment_ SLUICE_GUARDED_BY(mutex_) = TimePoint::max();  // to begin a body
  std::thread thread_;
};

}  // namespace sluice::server
