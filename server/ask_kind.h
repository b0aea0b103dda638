#pragma once

namespace sluice::server {

/// What a client sent: a prompt, or a conversation that a template makes one of.
enum class AskKind { kCompletion, kChat };

}  // namespace sluice::server
