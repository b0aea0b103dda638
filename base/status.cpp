#include "base/status.h"

namespace sluice {

std::string_view status_code_name(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kUnauthenticated:
      return "UNAUTHENTICATED";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kInternal:
      return "INTERNAL";
  }
  return "UNKNOWN";
}

Status Status::with_context(std::string_view context) const {
  Status copy = *this;
  copy.message_ = std::string(context) + ": " + message_;
  return copy;
}

std::ostream& operator<<(std::ostream& out, const Status& status) {
  out << status_code_name(status.code());
  if (!status.message().empty()) out << ": " << status.message();
  return out;
}

Status invalid_argument(std::string message) {
  return {StatusCode::kInvalidArgument, std::move(message)};
}

Status invalid_field(std::string field, std::string_view problem) {
  std::string message = field + " " + std::string(problem);
  return Status(StatusCode::kInvalidArgument, std::move(message)).with_field(std::move(field));
}

Status not_found(std::string message) {
  return {StatusCode::kNotFound, std::move(message)};
}
Status resource_exhausted(std::string message) {
  return {StatusCode::kResourceExhausted, std::move(message)};
}
Status failed_precondition(std::string message) {
  return {StatusCode::kFailedPrecondition, std::move(message)};
}
Status unauthenticated(std::string message) {
  return {StatusCode::kUnauthenticated, std::move(message)};
}
Status permission_denied(std::string message) {
  return {StatusCode::kPermissionDenied, std::move(message)};
}
Status unavailable(std::string message) {
  return {StatusCode::kUnavailable, std::move(message)};
}
Status deadline_exceeded(std::string message) {
  return {StatusCode::kDeadlineExceeded, std::move(message)};
}
Status internal_error(std::string message) {
  return {StatusCode::kInternal, std::move(message)};
}

}  // namespace sluice
