#include "client/stream_end.h"

#include "client/grpc_status.h"

namespace sluice::client {

void StreamEnd::observe(const v1::CompleteEvent& event) {
  is_whole_ = event.has_finished() && event.finished().has_usage();
  if (event.has_error()) error_ = to_status(event.error());
}

Status StreamEnd::status(const Status& call) const {
  if (!call.ok()) return call;
  if (!error_.ok()) return error_;
  if (!is_whole_) return internal_error("the stream ended without usage: the answer may be cut off");
  return {};
}

}  // namespace sluice::client
