#include "engine/hf_value.h"

#include <limits>
#include <utility>

#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

constexpr std::string_view kFileEnd = ": ";

/// The way to a member, behind the file's name or another member's.
std::string step(const std::string& where, std::string_view name) {
  const bool is_first = where.ends_with(kFileEnd);
  return where + (is_first ? "" : ".") + printable_name(name);
}

}  // namespace

Status HfValue::fault(std::string_view problem) const {
  const bool is_whole = where_.ends_with(kFileEnd);
  return invalid_argument(where_ + (is_whole ? "the document " : " ") + std::string(problem));
}

Result<std::optional<HfValue>> HfValue::find(std::string_view name) const {
  if (!value_->is_object()) return fault("is not an object");
  const auto member = value_->find(name);
  if (member == value_->end() || member->is_null()) return std::optional<HfValue>();
  return std::optional<HfValue>(HfValue(*member, step(where_, name)));
}

Result<HfValue> HfValue::get(std::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(std::optional<HfValue> member, find(name));
  if (!member) return HfValue(*value_, step(where_, name)).fault("is missing");
  return *std::move(member);
}

Result<std::string> HfValue::get_string(std::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const HfValue member, get(name));
  return member.string();
}

Result<bool> HfValue::get_bool_or(std::string_view name, bool fallback) const {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> member, find(name));
  if (!member) return fallback;
  const auto* const value = member->value_->get_ptr<const nlohmann::json::boolean_t*>();
  if (value == nullptr) return member->fault("is neither true nor false");
  return *value;
}

Result<std::optional<std::string>> HfValue::find_string(std::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> member, find(name));
  if (!member) return std::optional<std::string>();
  SLUICE_ASSIGN_OR_RETURN(std::string text, member->string());
  return std::optional<std::string>(std::move(text));
}

Result<std::vector<HfValue>> HfValue::get_list(std::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const HfValue member, get(name));
  if (!member.value_->is_array()) return member.fault("is not a list");
  std::vector<HfValue> elements;
  elements.reserve(member.value_->size());
  for (const nlohmann::json& element : *member.value_) {
    elements.emplace_back(element, member.where_ + "[" + std::to_string(elements.size()) + "]");
  }
  return elements;
}

Result<std::string> HfValue::string() const {
  const auto* const text = value_->get_ptr<const nlohmann::json::string_t*>();
  if (text == nullptr) return fault("is not a string");
  return *text;
}

Result<int32_t> HfValue::id() const {
  // What is past the largest int64 comes out negative.
  const int64_t number = value_->is_number_integer() ? value_->get<int64_t>() : -1;
  if (number < 0 || number >= std::numeric_limits<int32_t>::max()) {
    return fault("is not the id of a token, 0 to 2147483646");
  }
  return static_cast<int32_t>(number);
}

Result<std::string> hf_type(const HfValue& value) {
  return value.get_string("type");
}

Status hf_unknown_type(const HfValue& value, std::string_view type) {
  return value.fault("has the type \"" + printable_name(type) + "\", which is not supported");
}

}  // namespace sluice::engine
