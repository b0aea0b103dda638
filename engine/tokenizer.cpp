#include "engine/tokenizer.h"

#include <string>
#include <utility>

#include "engine/bpe_tokenizer.h"
#include "engine/bpe_vocabulary.h"
#include "engine/gguf.h"
#include "engine/gguf_parser.h"
#include "engine/pretokenizer.h"

namespace sluice::engine {
namespace {

Status refuse(const GgufFile& file, std::string_view key, std::string_view name, std::string_view problem) {
  return invalid_argument(file.path() + ": metadata " + std::string(key) + " is \"" + printable_name(name) + "\", " +
                          std::string(problem));
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_gguf(const GgufFile& file) {
  constexpr std::string_view kModelKey = "tokenizer.ggml.model";
  SLUICE_ASSIGN_OR_RETURN(const std::string_view model, file.get_string(kModelKey));
  if (model != "gpt2") return refuse(file, kModelKey, model, "not the supported gpt2 (byte-level BPE)");

  constexpr std::string_view kPretokenizerKey = "tokenizer.ggml.pre";
  SLUICE_ASSIGN_OR_RETURN(const std::string_view name, file.get_string(kPretokenizerKey));
  Result<Pretokenizer> pretokenizer = Pretokenizer::create(name);
  if (!pretokenizer.ok()) return refuse(file, kPretokenizerKey, name, pretokenizer.status().message());

  SLUICE_ASSIGN_OR_RETURN(BpeVocabulary vocabulary, BpeVocabulary::from_gguf(file));
  return std::unique_ptr<Tokenizer>(std::make_unique<BpeTokenizer>(std::move(vocabulary), *std::move(pretokenizer)));
}

}  // namespace sluice::engine
