#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/tokenizer.h"
#include "server/served_model.h"

namespace sluice::server {

/// The tiny model's tokenizer: an id below 256 is that byte, 256 is the end token, 257 and 258 are `<|user|>` and `ab`;
/// vocabulary 260.
inline constexpr int32_t kEnd = 256;
inline constexpr int32_t kUser = 257;
inline constexpr int32_t kByteVocabulary = 260;

/// Read from tests/data once per call.
std::unique_ptr<engine::Tokenizer> byte_tokenizer();

/// Ids of a text's bytes.
std::vector<int32_t> byte_ids(std::string_view text);

/// A served model with that tokenizer, which is lent.
ServedModel byte_model(const engine::Tokenizer& tokenizer, int32_t context_length, int32_t pool_tokens);

}  // namespace sluice::server
