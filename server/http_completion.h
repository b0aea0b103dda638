#pragma once

#include <memory>

#include "server/completion_ask.h"
#include "server/http_exchange.h"
#include "server/http_front.h"
#include "server/http_workers.h"

namespace sluice::server {

/// Serves one POST /v1/completions or /v1/chat/completions: reads the body, submits the request, and answers now if
/// that is refused. On a worker's thread. Front and workers are lent and outlive the exchange.
void serve_completion(const HttpFront& front, HttpWorkers& workers, const std::shared_ptr<HttpExchange>& exchange,
                      AskKind kind);

}  // namespace sluice::server
