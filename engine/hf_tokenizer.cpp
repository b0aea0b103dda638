#include "engine/hf_tokenizer.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/bpe_tokenizer.h"
#include "engine/end_token_names.h"
#include "engine/hf_bpe_model.h"
#include "engine/hf_components.h"
#include "engine/hf_value.h"
#include "engine/hf_vocabulary.h"
#include "engine/json_file.h"
#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

constexpr uint64_t kBytesMax = uint64_t{256} << 20;  // Gemma's has 33 MB

bool is_spelling(const Pretokenizer::Stage& stage) {
  return std::holds_alternative<Pretokenizer::SpellBytes>(stage);
}

/// Most byte-level tokenizers spell bytes last; then the words can stay bytes. Takes that stage away.
HfSpelling take_spelling(const std::vector<TextNormalizer::Step>& steps, bool has_byte_fallback,
                         std::vector<Pretokenizer::Stage>& stages) {
  const bool is_last = !stages.empty() && is_spelling(stages.back());
  const bool is_only = is_last && std::count_if(stages.begin(), stages.end(), is_spelling) == 1;
  const bool is_spelled_before = std::any_of(steps.begin(), steps.end(), [](const TextNormalizer::Step& step) {
    return std::holds_alternative<TextNormalizer::SpellBytes>(step);
  });
  if (!is_only || is_spelled_before || has_byte_fallback) return HfSpelling::kCharacters;
  stages.pop_back();
  return HfSpelling::kBytes;
}

class Assembly {
 public:
  Assembly(const HfValue& document, const HfTokenizerConfig& config) : document_(document), config_(config) {}

  Result<TokenizerSpec> run() {
    SLUICE_ASSIGN_OR_RETURN(const HfBpeModel model, HfBpeModel::open(document_));
    SLUICE_ASSIGN_OR_RETURN(HfVocabulary vocabulary, HfVocabulary::read(document_));
    SLUICE_RETURN_IF_ERROR(add_configured_tokens(vocabulary));
    // What a text is spelled with where words run out is text, whatever some files say.
    if (model.has_byte_fallback()) vocabulary.make_byte_tokens_ordinary();
    SLUICE_ASSIGN_OR_RETURN(std::vector<TextNormalizer::Step> steps, hf_normalizer(document_));
    SLUICE_ASSIGN_OR_RETURN(std::vector<Pretokenizer::Stage> stages, hf_pretokenizer(document_));
    const HfSpelling spelling = take_spelling(steps, model.has_byte_fallback(), stages);
    SLUICE_ASSIGN_OR_RETURN(spec_.model, model.read(vocabulary, spelling));
    spec_.normalizer = TextNormalizer(std::move(steps));
    spec_.pretokenizer = Pretokenizer(std::move(stages));
    SLUICE_RETURN_IF_ERROR(add_names(vocabulary));
    SLUICE_RETURN_IF_ERROR(add_texts(vocabulary));
    SLUICE_RETURN_IF_ERROR(add_template(vocabulary));
    add_end_tokens(vocabulary);
    return std::move(spec_);
  }

 private:
  /// Tokens that only the configuration knows, and those that it makes special.
  Status add_configured_tokens(HfVocabulary& vocabulary) const {
    for (const HfAddedToken& token : config_.added) SLUICE_RETURN_IF_ERROR(vocabulary.add(token, document_));
    for (const std::string& name : config_.further_special) vocabulary.make_special(name);
    for (const std::optional<std::string>& name : {config_.bos, config_.eos}) {
      if (!name || vocabulary.make_special(*name)) continue;
      return document_.fault("has no token \"" + printable_name(*name) + "\", which is bos or eos");
    }
    return {};
  }

  /// A token that is found by its normalised name reads as that.
  Status add_texts(const HfVocabulary& vocabulary) {
    SLUICE_ASSIGN_OR_RETURN(const HfDecoder decoder, HfDecoder::read(document_));
    spec_.tokens.resize(static_cast<size_t>(vocabulary.size()));
    const auto set_bytes = [&](int32_t id, std::string_view name, bool is_added) -> Status {
      TokenText& text = spec_.tokens[static_cast<size_t>(id)];
      SLUICE_ASSIGN_OR_RETURN(text.bytes, decoder.bytes_of(name, is_added));
      return {};
    };
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
      TokenText& text = spec_.tokens[static_cast<size_t>(id)];
      text.is_special = vocabulary.is_special(id);
      text.bytes = vocabulary.name(id);
      if (!text.is_special) SLUICE_RETURN_IF_ERROR(set_bytes(id, text.bytes, false));
    }
    for (const std::vector<AddedToken>& added : {std::cref(spec_.added), std::cref(spec_.added_normalized)}) {
      for (const AddedToken& token : added) {
        if (!token.is_special) SLUICE_RETURN_IF_ERROR(set_bytes(token.id, token.name, true));
      }
    }
    spec_.dropped_blanks = decoder.dropped_blanks();
    return {};
  }

  Status add_names(const HfVocabulary& vocabulary) {
    for (const HfAddedToken& token : vocabulary.added()) {
      AddedToken made = {.name = token.content,
                         .id = token.id,
                         .is_special = token.is_special,
                         .is_single_word = token.is_single_word,
                         .takes_left = token.takes_left,
                         .takes_right = token.takes_right};
      if (token.is_special || !token.is_normalized) {
        spec_.added.push_back(std::move(made));
        continue;
      }
      SLUICE_ASSIGN_OR_RETURN(made.name, spec_.normalizer.apply(token.content));
      // Without anything left of its name it can't be found.
      if (!made.name.empty()) spec_.added_normalized.push_back(std::move(made));
    }
    return {};
  }

  /// "add_bos_token" and "add_eos_token" stand for the whole template where one of them is there.
  Status add_template(const HfVocabulary& vocabulary) {
    SLUICE_ASSIGN_OR_RETURN(const HfTemplate around, hf_post_processor(document_));
    for (const std::vector<int32_t>& ids : {around.prefix_ids, around.suffix_ids}) {
      for (const int32_t id : ids) {
        if (id >= vocabulary.size()) {
          return document_.fault("puts the token " + std::to_string(id) + " around texts, outside the " +
                                 std::to_string(vocabulary.size()) + " tokens");
        }
      }
    }
    spec_.prefix_ids = around.prefix_ids;
    spec_.suffix_ids = around.suffix_ids;
    if (config_.bos) spec_.bos_id = vocabulary.id_of(*config_.bos);
    if (!config_.adds_bos && !config_.adds_eos) return {};
    spec_.prefix_ids.clear();
    spec_.suffix_ids.clear();
    if (config_.adds_bos.value_or(false) && spec_.bos_id) spec_.prefix_ids.push_back(*spec_.bos_id);
    if (config_.adds_eos.value_or(false) && config_.eos) spec_.suffix_ids.push_back(*vocabulary.id_of(*config_.eos));
    return {};
  }

  void add_end_tokens(const HfVocabulary& vocabulary) {
    std::vector<int32_t>& ids = spec_.end_ids;
    if (config_.eos) ids.push_back(*vocabulary.id_of(*config_.eos));
    for (const std::string_view name : kEndTokenNames) {
      const std::optional<int32_t> id = vocabulary.id_of(name);
      if (id && vocabulary.is_special(*id)) ids.push_back(*id);
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  }

  const HfValue& document_;
  const HfTokenizerConfig& config_;
  TokenizerSpec spec_;
};

}  // namespace

Result<TokenizerSpec> hf_tokenizer_spec(const nlohmann::json& json, const HfTokenizerConfig& config,
                                        const std::string& path) {
  const HfValue document(json, path + ": ");
  return Assembly(document, config).run();
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_folder(const std::string& folder) {
  const std::string path = folder + "/tokenizer.json";
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json, read_json_file(path, kBytesMax));
  SLUICE_ASSIGN_OR_RETURN(const HfTokenizerConfig config, HfTokenizerConfig::read(folder));
  SLUICE_ASSIGN_OR_RETURN(TokenizerSpec spec, hf_tokenizer_spec(json, config, path));
  return std::unique_ptr<Tokenizer>(std::make_unique<BpeTokenizer>(std::move(spec)));
}

}  // namespace sluice::engine
