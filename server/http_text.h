#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "server/json_text.h"
#include "server/served_model.h"

namespace sluice::server {

// The small calls, JSON in and JSON out. Thread-safe; INVALID_ARGUMENT names the member.

/// `prompt` to `tokens`, as a completion's prompt would be read: `add_special_tokens` (default true) puts bos in front
/// where the model's prompts begin with one; `parse_special`, `return_token_strs`.
Result<Json> tokenize_json(const ServedModel& model, const Json& body);
/// `tokens` to `prompt`; `keep_special`.
Result<Json> detokenize_json(const ServedModel& model, const Json& body);

Json model_json(const ServedModel& model, int64_t created);
Json models_json(const ServedModel& model, int64_t created);
/// Whether a path's last part, as sent, names the model.
bool names_model(std::string_view encoded, const ServedModel& model);

}  // namespace sluice::server
