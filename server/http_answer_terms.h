#pragma once

#include <string>

#include "server/completion_ask.h"
#include "server/http_message.h"

namespace sluice::server {

/// What every answer to one request has in common, good or bad.
struct HttpAnswerTerms {
  AskKind kind = AskKind::kCompletion;
  HttpHeaders headers;

  HttpResponse head(std::string content_type) const {
    return {.status = 200, .content_type = std::move(content_type), .body = "", .headers = headers};
  }

  /// Names the body's fields, not the core's.
  HttpResponse refusal(const Status& status) const {
    HttpResponse response = http_error(in_json_terms(status, kind));
    response.headers.insert(response.headers.end(), headers.begin(), headers.end());
    return response;
  }
};

}  // namespace sluice::server
