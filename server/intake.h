#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/status.h"
#include "scheduler/loop_stats.h"
#include "scheduler/mailbox.h"
#include "server/access.h"
#include "server/completion_session.h"
#include "server/explain_session.h"
#include "server/prompt_keys.h"
#include "server/request_parser.h"
#include "server/stream_pool.h"

namespace sluice::server {

/// What a call brings beside what its request says.
struct CallTerms {
  TimePoint deadline = TimePoint::max();
  Caller caller = {};
  /// Of an answer in one message; a stream has no such bound.
  int64_t answer_bytes_max = std::numeric_limits<int64_t>::max();
  std::optional<TraceContext> trace = {};  ///< nothing: the request begins a trace
  std::string client_id = {};              ///< x-request-id; empty: none
  AskKind kind = AskKind::kCompletion;
};

/// What a client calls its request, if that is up to 128 bytes of printable ASCII; else nothing.
std::string usable_request_id(std::string_view given);

/// The way in for every front: parses a request, holds it to its key's limits, registers its session and posts it to
/// the loop. Thread-safe; what it is given is lent.
class Intake {
 public:
  /// `seed` is drawn anew by each daemon; requests without a seed of their own draw from it.
  Intake(const ServedModel& model, const Access& access, const SessionServices& services, const PromptKeys& keys,
         StreamPool& pool, scheduler::LoopStats& stats, uint64_t seed);

  const ServedModel& model() const { return model_; }
  const Access& access() const { return access_; }
  const Clock& clock() const { return services_.clock; }

  /// An id for a request that is about to be submitted; a front keeps it for cancel().
  RequestId next_id() { return RequestId{next_id_.fetch_add(1, std::memory_order_relaxed)}; }

  /// Once OK, the sink gets the request's events; else it gets none and the front answers with the status.
  Status submit(RequestId id, const v1::CompleteRequest& request, const CallTerms& terms,
                std::shared_ptr<CompletionSink> sink);
  /// Asks what would become of the request. Once OK, `tell` is called once, on the stream pool's thread.
  Status explain(const v1::CompleteRequest& request, const CallTerms& terms, ExplainSession::Tell tell);
  /// Counts a request that is not submitted for the reason given; returns that.
  Status refuse(Outcome outcome, Status status, std::optional<std::string_view> tenant = {});
  /// The client went away. Harmless for a request that has ended or never was.
  void cancel(RequestId id);

  /// From now on every request is refused with UNAVAILABLE.
  void close() { closed_.store(true); }
  bool closed() const { return closed_.load(); }

 private:
  Result<ParsedRequest> parse(RequestId id, const v1::CompleteRequest& request, const CallTerms& terms) const;
  Status post(ParsedRequest parsed, KeyUse::Lease lease, std::shared_ptr<CompletionSink> sink);

  const ServedModel& model_;
  const Access& access_;
  const SessionServices services_;
  const PromptKeys keys_;
  StreamPool& pool_;
  scheduler::LoopStats& stats_;
  const uint64_t seed_;
  std::atomic<uint64_t> next_id_{1};
  std::atomic<bool> closed_{false};
};

}  // namespace sluice::server
