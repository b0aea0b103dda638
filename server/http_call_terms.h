#pragma once

#include <string>

#include "base/status.h"
#include "server/http_front.h"
#include "server/http_message.h"

namespace sluice::server {

inline constexpr int64_t kRequestTimeoutMsMax = 86'400'000;

/// Who a request is for, by its headers: `x-tenant`, up to 128 bytes of printable ASCII; without it the tenant with the
/// empty name.
Result<std::string> tenant_of(const HttpRequest& request);

/// What a request brings beside its body: the tenant, and a deadline from `x-request-timeout-ms`, 1 to 86400000.
/// INVALID_ARGUMENT names the header.
Result<CallTerms> call_terms(const HttpRequest& request, const HttpFront& front);

/// What `x-request-id` says in the answer: what it says in the request if that is up to 128 bytes of printable ASCII,
/// else `fallback`.
std::string request_id(const HttpRequest& request, std::string fallback);

}  // namespace sluice::server
