#include "server/grpc_call_terms.h"

#include <string>

#include "base/tenant_name.h"
#include "server/grpc_codec.h"

namespace sluice::server {
namespace {

constexpr const char* kTenantKey = "x-tenant";

Result<std::string> tenant_of(const grpc::ServerContextBase& context) {
  const auto found = context.client_metadata().find(kTenantKey);
  if (found == context.client_metadata().end()) return std::string();
  std::string tenant(found->second.data(), found->second.size());
  SLUICE_RETURN_IF_ERROR(check_tenant_name(kTenantKey, tenant));
  return tenant;
}

}  // namespace

Result<CallTerms> call_terms(const grpc::ServerContextBase& context, const GrpcFront& front) {
  CallTerms terms;
  SLUICE_ASSIGN_OR_RETURN(terms.tenant, tenant_of(context));
  terms.deadline = monotonic_deadline(context.deadline(), front.wall_clock(), front.intake.clock().now());
  return terms;
}

}  // namespace sluice::server
