#pragma once

#include <cstdint>
#include <memory>

#include "engine/chat_template.h"
#include "engine/tokenizer.h"

namespace sluice::engine {

/// Tokens that make_synthetic_tokenizer() can't do without.
inline constexpr int32_t kSyntheticTokensMin = 258;

/// A tokenizer for models that no tokenizer comes with: tokens 0 to 255 are the bytes, which is all that text becomes,
/// 256 is bos, which every prompt begins with, and 257 is eos. Each further token stands for a word of its own.
/// `vocab_size` >= kSyntheticTokensMin.
std::unique_ptr<Tokenizer> make_synthetic_tokenizer(int32_t vocab_size);

/// A line for each message, with its role before it.
ChatTemplate make_synthetic_chat_template();

}  // namespace sluice::engine
