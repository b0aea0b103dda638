#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/status.h"

namespace sluice::engine {

/// A value of a JSON file, with the way to it for errors: `FILE: normalizer.normalizers[2].pattern is missing`. Points
/// into the document. A member that is null counts as absent.
class HfValue {
 public:
  HfValue(const nlohmann::json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  const nlohmann::json& json() const { return *value_; }

  /// `FILE: way problem`, INVALID_ARGUMENT
  Status fault(std::string_view problem) const;

  /// Of an object; an error when the value is none.
  Result<std::optional<HfValue>> find(std::string_view name) const;
  Result<HfValue> get(std::string_view name) const;
  Result<std::string> get_string(std::string_view name) const;
  Result<bool> get_bool_or(std::string_view name, bool fallback) const;
  Result<std::optional<std::string>> find_string(std::string_view name) const;
  /// The elements of a list.
  Result<std::vector<HfValue>> get_list(std::string_view name) const;

  Result<std::string> string() const;
  /// A whole number in [0, 2^31 - 1).
  Result<int32_t> id() const;

 private:
  const nlohmann::json* value_;
  std::string where_;
};

/// The value's member "type".
Result<std::string> hf_type(const HfValue& value);
/// `FILE: way has the type "NAME", which is not supported`
Status hf_unknown_type(const HfValue& value, std::string_view type);

}  // namespace sluice::engine
