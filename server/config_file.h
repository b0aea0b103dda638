#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "server/config.h"
#include "server/config_draft.h"

namespace sluice::server {

/// Reads a configuration in YAML: sections of keys, as in configs/default.yaml. Keys that are not there keep their
/// value; an empty text or section is fine. Stops at the first key that is unknown, repeated, without a value or of
/// another type, and at text that is no YAML; the message begins with "file_name:line: ". Several documents, and texts
/// beyond 1 MiB, are refused.
Status read_yaml(std::string_view text, std::string_view file_name, ConfigDraft& draft);

/// The same for a file. NOT_FOUND or INVALID_ARGUMENT, with the path, when it can't be read.
Status read_config_file(const std::string& path, ConfigDraft& draft);

/// Every key and its value as YAML that read_yaml takes back.
std::string effective_config(const Config& config);
/// The same on one line, for the log: `model.path="…" model.name="" …`.
std::string effective_config_line(const Config& config);

}  // namespace sluice::server
