#pragma once

#include <string>

#include "base/status.h"
#include "server/access.h"
#include "server/http_front.h"
#include "server/http_message.h"

namespace sluice::server {

inline constexpr int64_t kRequestTimeoutMsMax = 86'400'000;

/// Who sends a request, by its headers `authorization` and `x-tenant`. Lives as long as the request.
Credentials credentials_of(const HttpRequest& request);

/// What a request brings beside its body: who sends it (see Access::admit for what is refused), and a deadline from
/// `x-request-timeout-ms`, 1 to 86400000. INVALID_ARGUMENT names the header.
Result<CallTerms> call_terms(const HttpRequest& request, const HttpFront& front);

/// What `x-request-id` says in the answer: what it says in the request if that is up to 128 bytes of printable ASCII,
/// else `fallback`.
std::string request_id(const HttpRequest& request, std::string fallback);

}  // namespace sluice::server
