#pragma once

#include "base/status.h"
#include "engine/tokenizer_spec.h"

namespace sluice::engine {

class GgufFile;
struct GgufVocabulary;

/// The tokenizers that GGUF files hold, by tokenizer.ggml.model. Errors name the file and the key at fault.
/// "gpt2": byte-level BPE.
Result<TokenizerSpec> gguf_byte_level_spec(const GgufFile& file);
/// "llama": SentencePiece's BPE, which merges whatever makes the token with the best score, and spells what it has no
/// tokens for in bytes.
Result<TokenizerSpec> gguf_sentencepiece_spec(const GgufFile& file);

/// What both have in common: names that are found in text, and what prompts begin and end with.
void add_gguf_special_tokens(const GgufVocabulary& vocabulary, bool adds_bos_by_default, TokenizerSpec& spec);

}  // namespace sluice::engine
