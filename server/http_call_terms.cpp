#include "server/http_call_terms.h"

#include <charconv>

namespace sluice::server {
namespace {

constexpr std::string_view kTimeout = "x-request-timeout-ms";
constexpr std::string_view kRequestId = "x-request-id";
std::string_view header(const HttpRequest& request, std::string_view name) {
  const std::string* const value = request.header(name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

}  // namespace

Credentials credentials_of(const HttpRequest& request) {
  return {.authorization = header(request, "authorization"), .tenant = header(request, "x-tenant")};
}

Result<CallTerms> call_terms(const HttpRequest& request, const HttpFront& front) {
  CallTerms terms;
  SLUICE_ASSIGN_OR_RETURN(terms.caller, front.intake.access().admit(credentials_of(request)));
  terms.trace = parse_traceparent(header(request, "traceparent"));
  terms.client_id = usable_request_id(header(request, kRequestId));
  const std::string* const timeout = request.header(kTimeout);
  if (timeout == nullptr) return terms;
  int64_t ms = 0;
  const char* const end = timeout->data() + timeout->size();
  const auto [stop, error] = std::from_chars(timeout->data(), end, ms);
  if (error != std::errc() || stop != end || ms < 1 || ms > kRequestTimeoutMsMax) {
    return invalid_field(std::string(kTimeout),
                         "must be a whole number from 1 to " + std::to_string(kRequestTimeoutMsMax));
  }
  terms.deadline = front.intake.clock().now() + std::chrono::milliseconds(ms);
  return terms;
}

std::string request_id(const HttpRequest& request, std::string fallback) {
  std::string id = usable_request_id(header(request, kRequestId));
  return id.empty() ? fallback : id;
}

}  // namespace sluice::server
