#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/status.h"
#include "engine/executor.h"
#include "kvcache/block_key.h"
#include "kvcache/shared_block_pool.h"
#include "scheduler/loop_stats.h"
#include "scheduler/mailbox.h"
#include "scheduler/scheduler.h"
#include "scheduler/serving_loop.h"
#include "server/chat_prompter.h"
#include "server/config.h"
#include "server/grpc_front.h"
#include "server/health_monitor.h"
#include "server/intake.h"
#include "server/latency_window.h"
#include "server/limits_desk.h"
#include "server/live_calls.h"
#include "server/metrics.h"
#include "server/request_record.h"
#include "server/served_model.h"
#include "server/span_exporter.h"
#include "server/stream_pool.h"

namespace sluice::server {

/// What a serving core is built on; all of it is lent and outlives the core.
struct ServingCoreParts {
  const ServedModel& model;
  const Access& access;
  engine::Executor& executor;
  const Clock& clock;
  std::function<std::chrono::system_clock::time_point()> wall_clock;
  Logger& logger;
  ChatPrompter chat_prompter;                ///< never none
  RequestObserver* journal = nullptr;        ///< told of every request that ends; null: nobody is
  const SpanExporter* exporter = nullptr;    ///< null: spans are not exported
  uint64_t seed = 0;                         ///< for requests without one
  std::array<std::byte, 32> cache_secret{};  ///< drawn anew by each daemon; keys the prefix cache
  int32_t block_count = 0;                   ///< of the KV pool
  kvcache::BlockGrowth growth;               ///< of its tables
};

/// Everything between the listeners and the engine: scheduler and loop on their thread, stream pool on its, and the
/// intake for the fronts. Serves from construction on. The listeners are stopped before it ends.
class ServingCore {
 public:
  ServingCore(const Config& config, const ServingCoreParts& parts);
  /// Fails what is left with UNAVAILABLE and ends both threads; waits for a step that runs.
  ~ServingCore();
  ServingCore(const ServingCore&) = delete;
  ServingCore& operator=(const ServingCore&) = delete;

  const GrpcFront& front() const { return front_; }
  Intake& intake() { return intake_; }
  const StreamPool& streams() const { return streams_; }
  const scheduler::LoopStats& stats() const { return stats_; }
  const Metrics& metrics() const { return metrics_; }
  const RecentLatencies& recent() const { return recent_; }
  Health health() const;

  /// Refuses new requests and waits until `deadline` for those there are and for their answers to be with the clients.
  /// What is left then fails with UNAVAILABLE, and has until `last_deadline` to tell its client. True when nothing was
  /// left.
  bool drain(TimePoint deadline, TimePoint last_deadline);

 private:
  void fail_all();

  const Clock& clock_;
  const Duration stall_timeout_;
  const kvcache::BlockHasher hasher_;
  kvcache::SharedBlockPool pool_;
  scheduler::Scheduler scheduler_;
  scheduler::Mailbox mailbox_;
  scheduler::LoopStats stats_;
  Metrics metrics_;
  RecentLatencies recent_;
  StreamPool streams_;
  LiveCalls live_calls_;
  Intake intake_;
  LimitsDesk limits_;
  GrpcFront front_;
  scheduler::ServingLoop loop_;
  std::thread loop_thread_;
};

}  // namespace sluice::server
