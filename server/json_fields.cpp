#include "server/json_fields.h"

#include <cmath>
#include <limits>

namespace sluice::server {

std::optional<int64_t> whole_number(const Json& value) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto number = value.get<double>();
  if (std::trunc(number) != number || number < -kTwoTo63 || number >= kTwoTo63) return std::nullopt;
  return static_cast<int64_t>(number);
}

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "true or false";
    case Json::value_t::null:
      return "null";
    default:
      return "a number";
  }
}

const Json* JsonFields::find(std::string_view name) {
  read_.emplace(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> JsonFields::boolean(std::string_view name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  mistyped(name, "true or false", *value);
  return std::nullopt;
}

std::optional<int64_t> JsonFields::whole64(std::string_view name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> number = whole_number(*value);
  if (number) return number;
  if (value->is_number()) {
    fail(name, "must be a whole number that fits 64 bits");
  } else {
    mistyped(name, "a whole number", *value);
  }
  return std::nullopt;
}

std::optional<int32_t> JsonFields::whole32(std::string_view name) {
  const std::optional<int64_t> number = whole64(name);
  if (!number) return std::nullopt;
  if (*number == static_cast<int32_t>(*number)) return static_cast<int32_t>(*number);
  fail(name, "must be a whole number that fits 32 bits");
  return std::nullopt;
}

std::optional<double> JsonFields::number(std::string_view name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  mistyped(name, "a number", *value);
  return std::nullopt;
}

std::optional<std::string> JsonFields::text(std::string_view name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  mistyped(name, "a string", *value);
  return std::nullopt;
}

const Json* JsonFields::object(std::string_view name) {
  const Json* const value = find(name);
  if (value == nullptr || value->is_object()) return value;
  mistyped(name, "an object", *value);
  return nullptr;
}

const Json* JsonFields::array(std::string_view name) {
  const Json* const value = find(name);
  if (value == nullptr || value->is_array()) return value;
  mistyped(name, "an array", *value);
  return nullptr;
}

std::string JsonFields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + '.' + std::string(name);
}

void JsonFields::fail(const Status& status) {
  if (status_.ok()) status_ = status;
}

void JsonFields::mistyped(std::string_view name, std::string_view wanted, const Json& value) {
  fail(name, "must be " + std::string(wanted) + ", not " + std::string(kind_of(value)));
}

std::vector<std::string> JsonFields::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : object_.items()) {
    if (!read_.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace sluice::server
