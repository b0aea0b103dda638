#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "server/json_text.h"

namespace sluice::server {

/// A conversation that was checked, as a chat template sees it.
struct ChatPromptInput {
  /// Objects with `role` (system, developer, user, assistant or tool) and `content` (a string; null only beside
  /// `tool_calls`), and where they were given `name`, `tool_calls`, `tool_call_id` and `reasoning_content`. Not empty.
  Json messages = Json::array();
  Json tools;                             ///< null when there are none, or none may be used
  Json template_kwargs = Json::object();  ///< further variables of the template
  bool add_generation_prompt = true;      ///< end where the assistant's answer begins
};

/// Makes the prompt of a conversation: token ids, with bos if they are to begin with one. INVALID_ARGUMENT with the
/// field `messages` when the template refuses it; FAILED_PRECONDITION when this model has none. Called by several
/// threads at once.
using ChatPrompter = std::function<Result<std::vector<int32_t>>(ChatPromptInput)>;

}  // namespace sluice::server
