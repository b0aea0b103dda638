#include "engine/gguf_tokenizer.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/bpe_tokenizer.h"
#include "engine/gguf.h"
#include "engine/gguf_vocabulary.h"
#include "engine/printable_name.h"

namespace sluice::engine {

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_gguf(const GgufFile& file) {
  constexpr std::string_view kModelKey = "tokenizer.ggml.model";
  SLUICE_ASSIGN_OR_RETURN(const std::string_view model, file.get_string(kModelKey));
  const auto made_of = [](Result<TokenizerSpec> spec) -> Result<std::unique_ptr<Tokenizer>> {
    if (!spec.ok()) return spec.status();
    return std::unique_ptr<Tokenizer>(std::make_unique<BpeTokenizer>(*std::move(spec)));
  };
  if (model == "gpt2") return made_of(gguf_byte_level_spec(file));
  if (model == "llama") return made_of(gguf_sentencepiece_spec(file));
  return gguf_fault(file, kModelKey,
                    "is \"" + printable_name(model) +
                        "\", neither gpt2 (byte-level BPE) nor llama (SentencePiece BPE), which are supported");
}

void add_gguf_special_tokens(const GgufVocabulary& vocabulary, bool adds_bos_by_default, TokenizerSpec& spec) {
  for (size_t id = 0; id < vocabulary.names.size(); ++id) {
    const GgufTokenKind kind = vocabulary.kinds[id];
    const bool is_special = kind == GgufTokenKind::kSpecial;
    spec.tokens[id].is_special = is_special;
    if (!is_special && kind != GgufTokenKind::kAdded) continue;
    spec.added.push_back(
        {.name = std::string(vocabulary.names[id]), .id = static_cast<int32_t>(id), .is_special = is_special});
  }
  spec.bos_id = vocabulary.bos_id;
  if (vocabulary.bos_id && vocabulary.adds_bos.value_or(adds_bos_by_default)) {
    spec.prefix_ids.push_back(*vocabulary.bos_id);
  }
  if (vocabulary.adds_eos) spec.suffix_ids.push_back(*vocabulary.eos_id);
  spec.end_ids = vocabulary.end_ids;
}

}  // namespace sluice::engine
