#pragma once

#include "base/status.h"
#include "server/chat_prompter.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::server {

/// The conversation with its prompt made, and its options. INVALID_ARGUMENT names the field.
Result<v1::CompleteRequest> to_complete_request(v1::ChatRequest request, const ChatPrompter& prompter);

}  // namespace sluice::server
