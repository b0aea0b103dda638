#include "server/grpc_stream_call.h"

#include <optional>
#include <utility>

#include "server/grpc_call_terms.h"
#include "server/grpc_codec.h"
#include "server/grpc_message.h"

namespace sluice::server {

grpc::ServerWriteReactor<grpc::ByteBuffer>* GrpcStreamCall::start(const GrpcFront& front,
                                                                  grpc::CallbackServerContext& context,
                                                                  const v1::CompleteRequest& request, AskKind kind) {
  const auto call = std::make_shared<GrpcStreamCall>(front, context);
  call->until_done_ = call;
  front.live_calls.enter();
  call->submit(request, kind);
  return call.get();
}

GrpcStreamCall::GrpcStreamCall(const GrpcFront& front, grpc::CallbackServerContext& context)
    : front_(front), context_(context), id_(front.intake.next_id()), buffer_(front.stream_buffer_tokens) {}

void GrpcStreamCall::submit(const v1::CompleteRequest& request, AskKind kind) {
  Result<CallTerms> terms = call_terms(context_, front_);
  if (terms.ok()) terms->kind = kind;
  const Status status = terms.ok() ? front_.intake.submit(id_, request, *terms, shared_from_this())
                                   : front_.intake.refuse(Outcome::kInvalid, terms.status());
  if (!status.ok() && take_turn()) end(status);
}

Delivery GrpcStreamCall::deliver(CompletionEvent event) {
  {
    const MutexLock lock(mutex_);
    if (cancelled_) return Delivery::kGone;
    if (buffer_.push(std::move(event)) == Delivery::kTooSlow) return Delivery::kTooSlow;
  }
  if (take_turn()) write_next();
  return Delivery::kTaken;
}

bool GrpcStreamCall::take_turn() {
  const MutexLock lock(mutex_);
  return !std::exchange(turn_is_taken_, true);
}

void GrpcStreamCall::write_next() {
  std::optional<CompletionEvent> event;
  bool is_cancelled = false;
  {
    const MutexLock lock(mutex_);
    is_cancelled = cancelled_;
    if (!is_cancelled && buffer_.empty()) {
      turn_is_taken_ = false;
      return;
    }
    if (!is_cancelled) event = buffer_.pop();
  }
  if (is_cancelled) return end(Status(StatusCode::kCancelled, "the client went away"));
  write(*event);
}

void GrpcStreamCall::write(const CompletionEvent& event) {
  if (const auto* denied = std::get_if<RequestDenied>(&event)) return end(denied->status);
  message_ = write_message(to_wire(event, {front_.intake.model(), front_.intake.clock().now()}));
  if (is_last(event)) {
    StartWriteAndFinish(&message_, grpc::WriteOptions(), grpc::Status::OK);
  } else {
    StartWrite(&message_);
  }
}

/// The turn is never given back.
void GrpcStreamCall::end(const Status& status) {
  Finish(finish_status(context_, status));
}

void GrpcStreamCall::OnWriteDone(bool ok) {
  if (!ok) {
    const MutexLock lock(mutex_);
    cancelled_ = true;
  }
  write_next();
}

void GrpcStreamCall::OnCancel() {
  front_.intake.cancel(id_);
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
  }
  if (take_turn()) write_next();
}

void GrpcStreamCall::OnDone() {
  front_.live_calls.leave();
  // The last use of this object, if the session has gone already.
  const std::shared_ptr<GrpcStreamCall> last = std::move(until_done_);
}

}  // namespace sluice::server
