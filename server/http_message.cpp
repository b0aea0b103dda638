#include "server/http_message.h"

#include <algorithm>

namespace sluice::server {
namespace {

std::string_view error_type(int status) {
  if (status == 429) return "rate_limit_error";
  if (status == 408) return "timeout_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

std::string_view error_code(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      return "invalid_value";
    case StatusCode::kNotFound:
      return status.field() == "model" ? "model_not_found" : "not_found";
    case StatusCode::kResourceExhausted:
      return "rate_limit_exceeded";
    case StatusCode::kUnavailable:
      return "unavailable";
    case StatusCode::kDeadlineExceeded:
      return "timeout";
    case StatusCode::kFailedPrecondition:
      return "not_served";
    case StatusCode::kUnauthenticated:
      return "invalid_api_key";
    case StatusCode::kPermissionDenied:
      return "permission_denied";
    default:
      return "internal_error";
  }
}

Json error_value(int status, std::string_view code, std::string_view message, std::string_view param) {
  Json error = {{"message", message}, {"type", error_type(status)}, {"param", nullptr}, {"code", code}};
  if (!param.empty()) error["param"] = param;
  return {{"error", std::move(error)}};
}

}  // namespace

const std::string* HttpRequest::header(std::string_view name) const {
  const auto found =
      std::ranges::find(headers, name, [](const auto& header) { return std::string_view(header.first); });
  return found == headers.end() ? nullptr : &found->second;
}

HttpResponse json_response(const Json& value) {
  return {.status = 200, .content_type = "application/json", .body = write_json(value) + '\n', .headers = {}};
}

HttpResponse http_error(int status, std::string_view code, std::string_view message, std::string_view param) {
  HttpResponse response = json_response(error_value(status, code, message, param));
  response.status = status;
  return response;
}

HttpResponse http_error(const Status& status) {
  HttpResponse response = http_error(http_status(status), error_code(status), status.message(), status.field());
  if (status.code() == StatusCode::kUnauthenticated) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (const int64_t ms = status.retry_after_ms(); ms > 0) {
    response.headers.emplace_back("retry-after", std::to_string((ms + 999) / 1000));
    response.headers.emplace_back("retry-after-ms", std::to_string(ms));
  } else if (status.code() == StatusCode::kUnavailable) {
    response.headers.emplace_back("retry-after", "1");
  }
  return response;
}

Json error_body(const Status& status) {
  return error_value(http_status(status), error_code(status), status.message(), status.field());
}

int http_status(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kUnauthenticated:
      return 401;
    case StatusCode::kPermissionDenied:
      return 403;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kResourceExhausted:
      return 429;
    case StatusCode::kCancelled:
      return 499;
    case StatusCode::kFailedPrecondition:
      return 501;
    case StatusCode::kUnavailable:
      return 503;
    case StatusCode::kDeadlineExceeded:
      return 408;
    default:
      return 500;
  }
}

}  // namespace sluice::server
