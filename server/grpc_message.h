#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include "base/status.h"

namespace sluice::server {

// Between the bytes of a gRPC message and protobuf. The service takes its calls raw, because gRPC ends a call whose
// request it can't read with UNIMPLEMENTED and without a word. Thread-safe.

/// Fills `message`, which is empty. INVALID_ARGUMENT when the bytes are no such message; when a string in them is not
/// UTF-8, it begins with the field's path, e.g. "stopping.stop[1] must be valid UTF-8".
Status read_message(const grpc::ByteBuffer& bytes, google::protobuf::Message& message);

/// The message is smaller than 2 GiB.
grpc::ByteBuffer write_message(const google::protobuf::MessageLite& message);

}  // namespace sluice::server
