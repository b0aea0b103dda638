#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "engine/hf_tokenizer_config.h"
#include "engine/tokenizer_spec.h"

namespace sluice::engine {

/// The tokenizer that a tokenizer.json describes, which came from `path`. Errors name the path and the place in the
/// document.
///
/// It does what Hugging Face's tokenizers do with the file, with these exceptions: names of special tokens are looked
/// for in the text as it comes, also where their "normalized" is true, so that it is known who wrote them; byte tokens
/// (<0x00> to <0xFF>, with byte_fallback) are never special; nothing makes special tokens but their names.
Result<TokenizerSpec> hf_tokenizer_spec(const nlohmann::json& json, const HfTokenizerConfig& config,
                                        const std::string& path);

}  // namespace sluice::engine
