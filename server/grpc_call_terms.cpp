#include "server/grpc_call_terms.h"

#include <algorithm>
#include <string>

#include "server/grpc_codec.h"

namespace sluice::server {
namespace {

constexpr const char* kTenantKey = "x-tenant";
constexpr size_t kTenantBytesMax = 128;

Result<std::string> tenant_of(const grpc::ServerContextBase& context) {
  const auto found = context.client_metadata().find(kTenantKey);
  if (found == context.client_metadata().end()) return std::string();
  std::string tenant(found->second.data(), found->second.size());
  const bool is_printable = std::all_of(tenant.begin(), tenant.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (is_printable && tenant.size() <= kTenantBytesMax) return tenant;
  return invalid_field(kTenantKey, "must be at most " + std::to_string(kTenantBytesMax) + " bytes of printable ASCII");
}

}  // namespace

Result<CallTerms> call_terms(const grpc::ServerContextBase& context, const GrpcFront& front) {
  CallTerms terms;
  SLUICE_ASSIGN_OR_RETURN(terms.tenant, tenant_of(context));
  terms.deadline = monotonic_deadline(context.deadline(), front.wall_clock(), front.intake.clock().now());
  return terms;
}

}  // namespace sluice::server
