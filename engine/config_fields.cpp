#include "engine/config_fields.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

using nlohmann::json;

constexpr size_t kListMax = 1024;

/// A short piece of JSON for a message.
std::string shown(const json& value) {
  if (value.is_array() || value.is_object()) return value.is_array() ? "a list" : "an object";
  return printable_name(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

}  // namespace

const json* ConfigFields::find(std::string_view name) const {
  const auto entry = object_.find(name);
  return entry == object_.end() || entry->is_null() ? nullptr : &*entry;
}

void ConfigFields::fail(std::string_view name, std::string_view problem) const {
  if (status_.ok()) status_ = invalid_argument(path_ + ": " + std::string(name) + " " + std::string(problem));
}

int32_t ConfigFields::whole(std::string_view name, const json& value, int64_t min, int64_t max) const {
  if (value.is_number_unsigned() ? std::in_range<int64_t>(value.get<uint64_t>()) : value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    if (number >= min && number <= max) return static_cast<int32_t>(number);
  }
  fail(name, "is " + shown(value) + ", but must be a whole number from " + std::to_string(min) + " to " +
                 std::to_string(max));
  return static_cast<int32_t>(min);
}

int32_t ConfigFields::count(std::string_view name, int64_t max) const {
  if (!has(name)) fail(name, "is missing");
  return count_or(name, max, 1);
}

int32_t ConfigFields::count_or(std::string_view name, int64_t max, int32_t fallback) const {
  const json* value = find(name);
  return value == nullptr ? fallback : whole(name, *value, 1, max);
}

int32_t ConfigFields::whole_or(std::string_view name, int64_t max, int32_t fallback) const {
  const json* value = find(name);
  return value == nullptr ? fallback : whole(name, *value, 0, max);
}

double ConfigFields::real(std::string_view name, double low, double high) const {
  if (!has(name)) fail(name, "is missing");
  return real_or(name, low, high, low);
}

double ConfigFields::real_or(std::string_view name, double low, double high, double fallback) const {
  const json* value = find(name);
  if (value == nullptr) return fallback;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (number >= low && number <= high) return number;
  fail(name, "is " + shown(*value) + ", but must be a number from " + number_text(low) + " to " + number_text(high));
  return fallback;
}

bool ConfigFields::flag_or(std::string_view name, bool fallback) const {
  const json* value = find(name);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  fail(name, "is " + shown(*value) + ", but must be true or false");
  return fallback;
}

std::string ConfigFields::text_or(std::string_view name, std::string fallback) const {
  const json* value = find(name);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  fail(name, "is " + shown(*value) + ", but must be a string");
  return fallback;
}

std::vector<std::string> ConfigFields::texts(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return {};
  const bool is_list = value->is_array() && value->size() <= kListMax &&
                       std::ranges::all_of(*value, [](const json& item) { return item.is_string(); });
  if (is_list) return value->get<std::vector<std::string>>();
  fail(name, "is not a list of at most " + std::to_string(kListMax) + " strings");
  return {};
}

std::vector<int32_t> ConfigFields::whole_list(std::string_view name, int64_t max) const {
  const json* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_array()) return {whole(name, *value, 0, max)};
  if (value->size() > kListMax) {
    fail(name, "has more than " + std::to_string(kListMax) + " entries");
    return {};
  }
  std::vector<int32_t> list;
  for (const json& item : *value) list.push_back(whole(name, item, 0, max));
  return list;
}

std::optional<ConfigFields> ConfigFields::object(std::string_view name) const {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) return ConfigFields(*value, path_ + ": " + std::string(name), status_);
  fail(name, "is " + shown(*value) + ", but must be an object");
  return std::nullopt;
}

void ConfigFields::refuse_others(std::initializer_list<std::string_view> known) const {
  for (const auto& [name, value] : object_.items()) {
    if (value.is_null() || std::ranges::find(known, std::string_view(name)) != known.end()) continue;
    fail(printable_name(name), "is not a setting that Sluice knows there");
  }
}

}  // namespace sluice::engine
