#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "base/status.h"
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

/// `work(front, request, response)` is a Status.
template <typename Request, typename Response, typename Work>
Status answer(const GrpcFront* front, const grpc::ByteBuffer& request_bytes, grpc::ByteBuffer& response_bytes,
              Work work) {
  if (front == nullptr) return loading_status();
  Request request;
  SLUICE_RETURN_IF_ERROR(read_message(request_bytes, request));
  Response response;
  SLUICE_RETURN_IF_ERROR(work(*front, request, response));
  response_bytes = write_message(response);
  return {};
}

}  // namespace sluice::server
