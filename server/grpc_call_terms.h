#pragma once

#include <grpcpp/server_context.h>

#include "base/status.h"
#include "server/access.h"
#include "server/grpc_front.h"

namespace sluice::server {

/// Who makes a call, by its metadata `authorization` and `x-tenant`. Lives as long as the context.
Credentials credentials_of(const grpc::ServerContextBase& context);

/// What a call brings beside its message: its deadline and who makes it. See Access::admit for what is refused.
Result<CallTerms> call_terms(const grpc::ServerContextBase& context, const GrpcFront& front);

}  // namespace sluice::server
