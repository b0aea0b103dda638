#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "base/status.h"
#include "server/grpc_call_terms.h"
#include "server/grpc_codec.h"
#include "server/grpc_front.h"
#include "server/grpc_message.h"

namespace sluice::server {

// Calls that are answered where they come in, without the loop.

inline Status loading_status() {
  return unavailable("the model is still being loaded; try again soon");
}

inline grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext& context, const Status& status) {
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(to_grpc_status(status));
  return reactor;
}

/// What a caller must be allowed to.
enum class Right { kInference, kControl };

inline Status check_right(Right right, const GrpcFront& front, const grpc::ServerContextBase& context) {
  const Access& access = front.intake.access();
  const Credentials credentials = credentials_of(context);
  return right == Right::kControl ? access.admit_admin(credentials) : access.admit(credentials).status();
}

/// A call's messages, as bytes.
struct SimpleCall {
  const grpc::ServerContextBase& context;
  const grpc::ByteBuffer& request;
  grpc::ByteBuffer& response;
};

/// `work(front, request, response)` is a Status.
template <typename Request, typename Response, typename Work>
Status answer(const GrpcFront* front, Right right, const SimpleCall& call, Work work) {
  if (front == nullptr) return loading_status();
  SLUICE_RETURN_IF_ERROR(check_right(right, *front, call.context));
  Request request;
  SLUICE_RETURN_IF_ERROR(read_message(call.request, request));
  Response response;
  SLUICE_RETURN_IF_ERROR(work(*front, request, response));
  call.response = write_message(response);
  return {};
}

}  // namespace sluice::server
