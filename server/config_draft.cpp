#include "server/config_draft.h"

#include <algorithm>
#include <vector>

#include "server/config_keys.h"
#include "server/nearest_name.h"

namespace sluice::server {
namespace {

const Config kDefaults;  // whose keys are the known ones

std::string full_key(std::string_view section, std::string_view key) {
  return std::string(section) + '.' + std::string(key);
}

std::vector<std::string> keys_of(std::string_view section) {
  std::vector<std::string> keys;
  for_each_key(kDefaults, [&](std::string_view s, std::string_view key, const auto&) {
    if (s == section) keys.emplace_back(key);
  });
  return keys;
}

std::vector<std::string> section_names() {
  std::vector<std::string> sections;
  for_each_key(kDefaults, [&](std::string_view section, std::string_view, const auto&) {
    if (sections.empty() || sections.back() != section) sections.emplace_back(section);
  });
  return sections;
}

/// "section.key" of the first section that has exactly this key; empty when none has.
std::string home_of(std::string_view key) {
  std::string home;
  for_each_key(kDefaults, [&](std::string_view section, std::string_view k, const auto&) {
    if (home.empty() && k == key) home = full_key(section, k);
  });
  return home;
}

std::string joined(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

std::string suggestion(const std::string& nearest, const std::vector<std::string>& known) {
  if (!nearest.empty()) return "; did you mean " + nearest + "?";
  return "; known are " + joined(known);
}

Status unknown_key(std::string_view section, std::string_view key) {
  const std::vector<std::string> known = keys_of(section);
  std::string nearest = nearest_name(key, known);
  nearest = nearest.empty() ? home_of(key) : full_key(section, nearest);
  const std::string name = full_key(section, shown(key));
  return invalid_field(name, "is not a known key" + suggestion(nearest, known));
}

}  // namespace

bool is_config_section(std::string_view section) {
  const std::vector<std::string> sections = section_names();
  return std::find(sections.begin(), sections.end(), section) != sections.end();
}

Status unknown_section(std::string_view section) {
  const std::vector<std::string> known = section_names();
  std::string nearest = nearest_name(section, known);
  if (nearest.empty()) nearest = home_of(section);
  return invalid_field(shown(section), "is not a known section" + suggestion(nearest, known));
}

Status ConfigDraft::assign(std::string_view section, std::string_view key, const ConfigScalar& value,
                           std::string_view origin) {
  if (!is_config_section(section)) return unknown_section(section).with_context(origin);
  Status status = unknown_key(section, key);
  for_each_key(config_, [&](std::string_view s, std::string_view k, auto& field) {
    if (s == section && k == key) status = read_value(full_key(s, k), value, field);
  });
  if (!status.ok()) return status.with_context(origin);
  origins_[full_key(section, key)] = origin;
  return {};
}

Status ConfigDraft::assign(std::string_view full_key, const ConfigScalar& value, std::string_view origin) {
  const size_t dot = full_key.find('.');
  if (dot == std::string_view::npos) return unknown_section(full_key).with_context(origin);
  return assign(full_key.substr(0, dot), full_key.substr(dot + 1), value, origin);
}

Result<Config> ConfigDraft::finish() const {
  const Status status = config_.validate();
  if (status.ok()) return config_;
  const auto origin = origins_.find(status.field());
  return origin == origins_.end() ? status : status.with_context(origin->second);
}

}  // namespace sluice::server
