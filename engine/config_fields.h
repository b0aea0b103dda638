#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"

namespace sluice::engine {

/// Reads the members of one object of a model's config.json. A member that is null counts as absent. The first thing
/// that isn't as it should be is kept as the status, and a harmless value is handed out instead, so that the caller
/// looks at the status once, at the end. Lends the object and, for objects inside it, the status.
class ConfigFields {
 public:
  /// `path` names the object in messages: the file, or "FILE: rope_scaling" and so on.
  ConfigFields(const nlohmann::json& object, std::string path, Status& status)
      : object_(object), path_(std::move(path)), status_(status) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// A whole number from 1 to `max`, which must be there.
  int32_t count(std::string_view name, int64_t max) const;
  int32_t count_or(std::string_view name, int64_t max, int32_t fallback) const;
  /// A whole number from 0 to `max`.
  int32_t whole_or(std::string_view name, int64_t max, int32_t fallback) const;
  /// A number with low <= value <= high, which must be there.
  double real(std::string_view name, double low, double high) const;
  double real_or(std::string_view name, double low, double high, double fallback) const;
  bool flag_or(std::string_view name, bool fallback) const;
  std::string text_or(std::string_view name, std::string fallback) const;
  /// Empty when it is absent.
  std::vector<std::string> texts(std::string_view name) const;
  /// One whole number, or a list of at most 1024 of them, each from 0 to `max`. Empty when it is absent.
  std::vector<int32_t> whole_list(std::string_view name, int64_t max) const;
  /// nullopt when it is absent.
  std::optional<ConfigFields> object(std::string_view name) const;

  /// Fails when there is a member with another name than these.
  void refuse_others(std::initializer_list<std::string_view> known) const;
  void fail(std::string_view name, std::string_view problem) const;
  bool ok() const { return status_.ok(); }

 private:
  const nlohmann::json* find(std::string_view name) const;
  int32_t whole(std::string_view name, const nlohmann::json& value, int64_t min, int64_t max) const;

  const nlohmann::json& object_;
  std::string path_;
  Status& status_;
};

}  // namespace sluice::engine
