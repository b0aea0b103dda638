#pragma once

#include <chrono>

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "base/clock.h"
#include "base/status.h"
#include "server/completion_collector.h"
#include "server/completion_event.h"
#include "server/served_model.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::server {

grpc::Status to_grpc_status(const Status& status);
/// The status, with the trailing metadata `retry-after-ms` added to the call when it knows when to try again.
grpc::Status finish_status(grpc::ServerContextBase& context, const Status& status);

/// A call's deadline on the monotonic clock; TimePoint::max() when it has none.
TimePoint monotonic_deadline(std::chrono::system_clock::time_point deadline,
                             std::chrono::system_clock::time_point wall_now, TimePoint now);

/// What an event is told with besides itself.
struct WireContext {
  const ServedModel& model;
  TimePoint now;  ///< the moment of hand-over, which ends the ledger's delivery
};

/// Any event but RequestDenied, which is a gRPC status.
v1::CompleteEvent to_wire(const CompletionEvent& event, const WireContext& context);
v1::CompleteResponse to_wire(const Completion& completion, const WireContext& context);

}  // namespace sluice::server
