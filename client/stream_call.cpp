#include "client/stream_call.h"

#include <utility>

namespace sluice::client {

StreamCall::StreamCall(v1::Inference::Stub& stub, v1::CompleteRequest request,
                       const std::function<void(grpc::ClientContext&)>& prepare, Handlers handlers, Explain explain)
    : stub_(stub), request_(std::move(request)), explain_(std::move(explain)), handlers_(std::move(handlers)) {
  prepare(context_);
}

void StreamCall::start() {
  stub_.async()->StreamComplete(&context_, &request_, this);
  StartRead(&event_);
  StartCall();
}

void StreamCall::OnReadDone(bool ok) {
  if (!ok) return;
  end_.observe(event_);
  handlers_.on_event(event_);
  StartRead(&event_);
}

void StreamCall::OnDone(const grpc::Status& status) {
  const Status end = end_.status(explain_(status, context_));
  // The handler may destroy this call, and with it the function that is running.
  const auto on_done = std::move(handlers_.on_done);
  on_done(end);
}

}  // namespace sluice::client
