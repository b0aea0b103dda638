#pragma once

#include <array>
#include <string_view>

namespace sluice::engine {

/// Special tokens that end a generation wherever they are: files often name one end token and leave out the one that
/// ends a turn, or the other way round.
constexpr std::array<std::string_view, 7> kEndTokenNames = {
    "<|endoftext|>",    // GPT-2, Qwen2, SmolLM2: end of a document
    "<|im_end|>",       // ChatML: end of a turn
    "<|end_of_text|>",  // Llama 3: end of a document
    "<|eot_id|>",       // Llama 3: end of a turn
    "<|eom_id|>",       // Llama 3: end of a message that calls a tool
    "<|end|>",          // Phi 3: end of a turn
    "<end_of_turn>",    // Gemma: end of a turn
};

}  // namespace sluice::engine
