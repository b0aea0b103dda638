#pragma once

#include <string>

#include "bench/target.h"

namespace sluice::bench {

/// Which of OpenAI's two ways to ask.
enum class Endpoint { kCompletions, kChat };

/// The path below the base: "/completions" or "/chat/completions".
std::string_view endpoint_path(Endpoint endpoint);

/// The JSON body that asks for a streamed answer with usage. A text becomes a user's message for kChat; messages become
/// one text for kCompletions, one after the other; token ids go to kCompletions only.
std::string openai_request(const Ask& ask, Endpoint endpoint, const std::string& model);

}  // namespace sluice::bench
