#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/hf_vocabulary.h"

namespace sluice::engine {

/// What tokenizer_config.json says beside tokenizer.json; special_tokens_map.json stands in for the names that it
/// lacks. A folder without either says nothing.
struct HfTokenizerConfig {
  std::optional<std::string> bos;
  std::optional<std::string> eos;
  std::vector<std::string> further_special;  ///< names of other special tokens
  std::optional<bool> adds_bos;
  std::optional<bool> adds_eos;
  std::vector<HfAddedToken> added;  ///< "added_tokens_decoder"
  /// "chat_template": its text under "default", or the named ones.
  std::vector<std::pair<std::string, std::string>> chat_templates;

  static Result<HfTokenizerConfig> read(const std::string& folder);
};

}  // namespace sluice::engine
