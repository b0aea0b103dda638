#include "client/grpc_status.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace sluice::client {
namespace {

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// 0 when there is none, or it is not a number of milliseconds.
int64_t retry_after_ms(const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find("retry-after-ms");
  if (found == metadata.end()) return 0;
  int64_t ms = 0;
  const auto [end, error] = std::from_chars(found->second.begin(), found->second.end(), ms);
  return error == std::errc() && end == found->second.end() && ms > 0 ? ms : 0;
}

Status failure(int32_t code, std::string message, int64_t retry_after_ms) {
  if (message.empty()) message = "the server gave no reason";
  return Status(status_code_from_wire(code), on_one_line(std::move(message))).with_retry_after_ms(retry_after_ms);
}

}  // namespace

StatusCode status_code_from_wire(int32_t code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return StatusCode::kOk;
    case grpc::StatusCode::CANCELLED:
      return StatusCode::kCancelled;
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::INVALID_ARGUMENT:
      return StatusCode::kInvalidArgument;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return StatusCode::kDeadlineExceeded;
    case grpc::StatusCode::NOT_FOUND:
      return StatusCode::kNotFound;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return StatusCode::kResourceExhausted;
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::FAILED_PRECONDITION:
      return StatusCode::kFailedPrecondition;
    case grpc::StatusCode::UNAUTHENTICATED:
      return StatusCode::kUnauthenticated;
    case grpc::StatusCode::PERMISSION_DENIED:
      return StatusCode::kPermissionDenied;
    case grpc::StatusCode::UNAVAILABLE:
      return StatusCode::kUnavailable;
    default:
      return StatusCode::kInternal;
  }
}

Status to_status(const grpc::Status& status, const grpc::ClientContext& context) {
  if (status.ok()) return {};
  return failure(status.error_code(), status.error_message(), retry_after_ms(context));
}

Status to_status(const v1::Error& error) {
  // An error event with code OK is still an error: a stream without a mistake ends with `finished`.
  const int32_t code = error.code() == grpc::StatusCode::OK ? grpc::StatusCode::INTERNAL : error.code();
  return failure(code, error.message(), error.retry_after_ms());
}

}  // namespace sluice::client
