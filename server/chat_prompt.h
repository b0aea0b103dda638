#pragma once

#include <chrono>
#include <functional>

#include "base/status.h"
#include "engine/chat_template.h"
#include "server/chat_prompter.h"
#include "server/served_model.h"

namespace sluice::server {

/// Makes prompts by a model's chat template: what the template writes itself may name special tokens, what came with a
/// message never does. A model whose template can't be had refuses conversations with the reason. The model is lent
/// and outlives the prompter; `wall_clock` tells the date to templates that ask for it.
///
/// A conversation that can't fit the model's context whatever its tokens are is refused before it is tokenised.
///
/// The template sees a content that is null as an empty one, and arguments of tool calls that are a string with a JSON
/// object as that object, as it writes them as JSON itself; beyond 1 MiB of arguments they stay strings, as read values
/// take far more memory than their text.
ChatPrompter make_chat_prompter(Result<engine::ChatTemplate> chat_template, const ServedModel& model,
                                std::function<std::chrono::system_clock::time_point()> wall_clock);

}  // namespace sluice::server
