#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/http_body.h"
#include "server/json_text.h"

namespace sluice::server {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  ///< "GET"
  std::string path;    ///< the target without scheme and host, up to its '?', as sent; "/" when that is nothing
  std::string query;   ///< what follows the '?'
  std::string body;
  HttpHeaders headers;       ///< names in lower case
  HttpBodyLease body_lease;  ///< the body's memory, given back with it

  /// The first header of this name, in lower case; null when there is none.
  const std::string* header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  HttpHeaders headers;  ///< beside Content-Type, Content-Length and Connection
};

/// A value as JSON, with a line's end.
HttpResponse json_response(const Json& value);

/// `{"error": {"message": …, "type": …, "param": …, "code": …}}` with the status, as OpenAI's clients read it. `code`
/// is for programs; `param` is the field at fault, null when empty. The message is ours: never bytes of the request.
HttpResponse http_error(int status, std::string_view code, std::string_view message, std::string_view param = {});

/// The answer that a failure is told with. Beside the body, a 429 or 503 that knows when to try again says so in
/// `retry-after` (seconds, rounded up) and `retry-after-ms`.
HttpResponse http_error(const Status& status);
/// The same body as a value, for a stream that has begun.
Json error_body(const Status& status);

/// 400 INVALID_ARGUMENT, 404 NOT_FOUND, 408 DEADLINE_EXCEEDED (the time was the client's to set, so it is no fault of
/// the server's), 429 RESOURCE_EXHAUSTED, 499 CANCELLED, 501 FAILED_PRECONDITION (what this daemon can't do as it was
/// started), 503 UNAVAILABLE, 500 else.
int http_status(const Status& status);

}  // namespace sluice::server
