#pragma once

#include <cstdint>
#include <string>

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include "base/status.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::client {

/// Our code for a number on the wire (google.rpc.Code). Codes that we have no word for become the nearest one:
/// OUT_OF_RANGE is kInvalidArgument, ABORTED and ALREADY_EXISTS are kFailedPrecondition, everything else is kInternal.
StatusCode status_code_from_wire(int32_t code);

/// How a call ended. The message is the server's, on one line, so it keeps the field's name; retry_after_ms comes from
/// the trailing metadata `retry-after-ms`. The call has ended.
Status to_status(const grpc::Status& status, const grpc::ClientContext& context);

/// What a stream's error event says.
Status to_status(const v1::Error& error);

}  // namespace sluice::client
