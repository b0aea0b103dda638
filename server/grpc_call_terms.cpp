#include "server/grpc_call_terms.h"

#include <string_view>

#include "server/grpc_codec.h"

namespace sluice::server {
namespace {

std::string_view metadata(const grpc::ServerContextBase& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

}  // namespace

Credentials credentials_of(const grpc::ServerContextBase& context) {
  return {.authorization = metadata(context, "authorization"), .tenant = metadata(context, "x-tenant")};
}

Result<CallTerms> call_terms(const grpc::ServerContextBase& context, const GrpcFront& front) {
  CallTerms terms;
  SLUICE_ASSIGN_OR_RETURN(terms.caller, front.intake.access().admit(credentials_of(context)));
  terms.deadline = monotonic_deadline(context.deadline(), front.wall_clock(), front.intake.clock().now());
  terms.trace = parse_traceparent(metadata(context, "traceparent"));
  terms.client_id = usable_request_id(metadata(context, "x-request-id"));
  return terms;
}

}  // namespace sluice::server
