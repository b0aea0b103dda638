#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/json_text.h"

namespace sluice::server {

/// Reads the members of one JSON object. A member that is null counts as absent. The first one that is not as it should
/// be is kept as the status, and is INVALID_ARGUMENT with the member's path as its field; reading goes on, so the
/// caller looks at the status once, at the end. Lends the object.
class JsonFields {
 public:
  /// `path` is that of the object, e.g. "stream_options"; empty for the body itself.
  explicit JsonFields(const Json& object, std::string path = {}) : object_(object), path_(std::move(path)) {}

  /// Null when it is absent.
  const Json* find(std::string_view name);
  std::optional<bool> boolean(std::string_view name);
  /// Whole numbers may be written as 1.0 or 1e2 too.
  std::optional<int32_t> whole32(std::string_view name);
  std::optional<int64_t> whole64(std::string_view name);
  std::optional<double> number(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  /// Null when it is absent or something else.
  const Json* object(std::string_view name);
  const Json* array(std::string_view name);

  std::string path_of(std::string_view name) const;
  void fail(std::string_view name, std::string_view problem) { fail(invalid_field(path_of(name), problem)); }
  /// Only the first failure is kept; OK is none.
  void fail(const Status& status);
  const Status& status() const { return status_; }

  /// Names of the members that nobody has asked for.
  std::vector<std::string> unread() const;

 private:
  void mistyped(std::string_view name, std::string_view wanted, const Json& value);

  const Json& object_;
  const std::string path_;
  std::set<std::string, std::less<>> read_;
  Status status_;
};

/// A whole number that fits 64 bits, however it is written.
std::optional<int64_t> whole_number(const Json& value);

/// What kind of value it is, e.g. "a string", for messages.
std::string_view kind_of(const Json& value);

}  // namespace sluice::server
