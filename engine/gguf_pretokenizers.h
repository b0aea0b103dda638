#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/pretokenizer.h"
#include "engine/text_normalizer.h"

namespace sluice::engine {

/// What a byte-level BPE tokenizer does with text before it merges, by the name that GGUF files give it.
struct GgufPretokenizer {
  TextNormalizer normalizer;
  std::vector<Pretokenizer::Stage> stages;
  bool spells_bytes = false;       ///< words come out in GPT-2's alphabet, otherwise as they are
  bool takes_whole_words = false;  ///< a word that is a token is taken whole, even if no merges lead to it
  bool adds_bos = false;           ///< prompts begin with bos when the file doesn't say
};

/// By tokenizer.ggml.pre; a name that is not known is refused with the list of those that are. Each does what the
/// tokenizer.json of the models does that bear its name; "default" is llama.cpp's own, for files that name none.
Result<GgufPretokenizer> gguf_pretokenizer(std::string_view name);

}  // namespace sluice::engine
