#include "server/grpc_unary_call.h"

#include <utility>

#include "server/grpc_call_terms.h"
#include "server/grpc_codec.h"
#include "server/grpc_message.h"

namespace sluice::server {

grpc::ServerUnaryReactor* GrpcUnaryCall::start(const GrpcFront& front, grpc::CallbackServerContext& context,
                                               const v1::CompleteRequest& request, AskKind kind,
                                               grpc::ByteBuffer& response) {
  const auto call = std::make_shared<GrpcUnaryCall>(front, context, response);
  call->until_done_ = call;
  front.live_calls.enter();
  call->submit(request, kind);
  return call.get();
}

GrpcUnaryCall::GrpcUnaryCall(const GrpcFront& front, grpc::CallbackServerContext& context, grpc::ByteBuffer& response)
    : front_(front), context_(context), response_(response), id_(front.intake.next_id()) {}

void GrpcUnaryCall::submit(const v1::CompleteRequest& request, AskKind kind) {
  Result<CallTerms> terms = call_terms(context_, front_);
  if (terms.ok()) {
    terms->answer_bytes_max = front_.message_bytes_max;
    terms->kind = kind;
  }
  const Status status = terms.ok() ? front_.intake.submit(id_, request, *terms, shared_from_this())
                                   : front_.intake.refuse(Outcome::kInvalid, terms.status());
  if (!status.ok() && begin_end()) Finish(finish_status(context_, status));
}

Delivery GrpcUnaryCall::deliver(CompletionEvent event) {
  const bool is_end = is_last(event);
  collector_.add(std::move(event));
  if (!is_end) {
    const MutexLock lock(mutex_);
    return ended_ ? Delivery::kGone : Delivery::kTaken;
  }
  if (!begin_end()) return Delivery::kGone;
  answer();
  return Delivery::kTaken;
}

/// True once: context and response belong to whoever ends the call.
bool GrpcUnaryCall::begin_end() {
  const MutexLock lock(mutex_);
  return !std::exchange(ended_, true);
}

void GrpcUnaryCall::answer() {
  if (collector_.status().ok()) {
    response_ = write_message(to_wire(collector_.completion(), {front_.intake.model(), front_.intake.clock().now()}));
  }
  Finish(finish_status(context_, collector_.status()));
}

void GrpcUnaryCall::OnCancel() {
  front_.intake.cancel(id_);
  if (begin_end()) Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away"));
}

void GrpcUnaryCall::OnDone() {
  front_.live_calls.leave();
  // The last use of this object, if the session has gone already.
  const std::shared_ptr<GrpcUnaryCall> last = std::move(until_done_);
}

}  // namespace sluice::server
