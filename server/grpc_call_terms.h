#pragma once

#include <grpcpp/server_context.h>

#include "base/status.h"
#include "server/grpc_front.h"

namespace sluice::server {

/// What a call brings beside its message: its deadline, and its tenant from the metadata `x-tenant`. INVALID_ARGUMENT
/// when that is longer than 128 bytes or not printable ASCII.
Result<CallTerms> call_terms(const grpc::ServerContextBase& context, const GrpcFront& front);

}  // namespace sluice::server
