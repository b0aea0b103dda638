#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "server/config.h"
#include "server/config_value.h"

namespace sluice::server {

/// A configuration in the making: starts with the defaults and takes values from several sources, the last one winning.
/// Remembers where each value came from, so that an error found late still says where to mend it.
class ConfigDraft {
 public:
  /// Sets one key. `origin` says where the value stands, e.g. "sluice.yaml:12" or "--set"; an error's message begins
  /// with it.
  Status assign(std::string_view section, std::string_view key, const ConfigScalar& value, std::string_view origin);
  /// Sets one key named "section.key".
  Status assign(std::string_view full_key, const ConfigScalar& value, std::string_view origin);

  const Config& config() const { return config_; }
  /// The configuration if it is valid; else what is wrong, and where the key at fault was set.
  Result<Config> finish() const;

 private:
  Config config_;
  std::map<std::string, std::string, std::less<>> origins_;  // by full key
};

bool is_config_section(std::string_view section);
/// That there is no such section; names the nearest one, or where a key of this name lives.
Status unknown_section(std::string_view section);

}  // namespace sluice::server
