#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace sluice {

/// Why something failed, with the meaning the gRPC code of the same name has.
enum class StatusCode {
  kOk,
  kCancelled,
  kInvalidArgument,
  kDeadlineExceeded,
  kNotFound,
  kResourceExhausted,
  kFailedPrecondition,
  kUnauthenticated,
  kPermissionDenied,
  kUnavailable,
  kInternal,
};

std::string_view status_code_name(StatusCode code);

/// The outcome of something that can fail. A message names the thing and the fix, on one line, without a trailing full
/// stop.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  /// The request field or configuration key at fault, e.g. "sampling.top_p"; empty when there is none.
  const std::string& field() const { return field_; }
  /// How long a client should wait before it tries again, in milliseconds; 0 when trying again is no use or unknown.
  int64_t retry_after_ms() const { return retry_after_ms_; }

  Status with_field(std::string field) && {
    field_ = std::move(field);
    return std::move(*this);
  }
  Status with_retry_after_ms(int64_t ms) && {
    retry_after_ms_ = ms;
    return std::move(*this);
  }
  /// The same failure with "context: " before its message.
  Status with_context(std::string_view context) const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::string field_;
  int64_t retry_after_ms_ = 0;
};

std::ostream& operator<<(std::ostream& out, const Status& status);

Status invalid_argument(std::string message);
/// INVALID_ARGUMENT for one request field or configuration key; the message begins with its name.
Status invalid_field(std::string field, std::string_view problem);
Status not_found(std::string message);
Status resource_exhausted(std::string message);
Status failed_precondition(std::string message);
Status unauthenticated(std::string message);
Status permission_denied(std::string message);
Status unavailable(std::string message);
Status deadline_exceeded(std::string message);
Status internal_error(std::string message);

/// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<1>, std::move(value)) {}        // NOLINT(google-explicit-constructor)
  Result(Status status) : state_(std::in_place_index<0>, std::move(status)) {  // NOLINT(google-explicit-constructor)
    SLUICE_CHECK(!std::get<0>(state_).ok());
  }

  bool ok() const { return state_.index() == 1; }
  Status status() const { return ok() ? Status() : std::get<0>(state_); }

  /// The value; the caller has seen ok().
  T& value() & {
    SLUICE_CHECK(ok());
    return std::get<1>(state_);
  }
  const T& value() const& {
    SLUICE_CHECK(ok());
    return std::get<1>(state_);
  }
  T&& value() && {
    SLUICE_CHECK(ok());
    return std::get<1>(std::move(state_));
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace sluice

/// Leaves the function with the failure, if there is one.
#define SLUICE_RETURN_IF_ERROR(expression)                        \
  do {                                                            \
    if (::sluice::Status status_ = (expression); !status_.ok()) { \
      return status_;                                             \
    }                                                             \
  } while (false)

#define SLUICE_CONCAT_INNER(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_INNER(a, b)
#define SLUICE_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) return result.status();                       \
  target = std::move(result).value()

/// `SLUICE_ASSIGN_OR_RETURN(auto file, open(path));`: the value, or leaves the function with the failure.
#define SLUICE_ASSIGN_OR_RETURN(target, expression) \
  SLUICE_ASSIGN_OR_RETURN_INNER(SLUICE_CONCAT(result_, __LINE__), target, expression)
