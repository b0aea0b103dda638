#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/bpe_alphabet.h"
#include "engine/gguf.h"
#include "engine/gguf_pretokenizers.h"
#include "engine/gguf_tokenizer.h"
#include "engine/gguf_vocabulary.h"
#include "engine/printable_name.h"
#include "engine/utf8.h"

namespace sluice::engine {
namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";

uint64_t pair_key(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32U) | static_cast<uint32_t>(right);
}

Result<GgufPretokenizer> read_pretokenizer(const GgufFile& file) {
  constexpr std::string_view kKey = "tokenizer.ggml.pre";
  SLUICE_ASSIGN_OR_RETURN(const std::string_view name, file.get_string(kKey));
  Result<GgufPretokenizer> pretokenizer = gguf_pretokenizer(name);
  if (!pretokenizer.ok()) {
    return gguf_fault(file, kKey, "is \"" + printable_name(name) + "\", " + pretokenizer.status().message());
  }
  return pretokenizer;
}

/// A word reads as the bytes it spells. One that spells none is made from no text and reads as its name, as in Hugging
/// Face's decoder.
std::vector<TokenText> texts_of(const GgufVocabulary& vocabulary) {
  std::vector<TokenText> texts(vocabulary.names.size());
  for (size_t id = 0; id < texts.size(); ++id) {
    const std::string_view name = vocabulary.names[id];
    const bool is_word = vocabulary.kinds[id] == GgufTokenKind::kWord || vocabulary.kinds[id] == GgufTokenKind::kByte;
    std::optional<std::string> bytes = is_word ? bytes_of_spelling(name) : std::nullopt;
    texts[id].bytes = bytes ? *std::move(bytes) : std::string(name);
  }
  return texts;
}

class MergeReader {
 public:
  MergeReader(const GgufFile& file, const GgufVocabulary& vocabulary) : file_(file), vocabulary_(vocabulary) {}

  /// A merge that would make a special token is left out: text must not become one, whoever wrote it.
  Result<std::vector<BpeMerge>> read() const {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string_view>* const lines,
                            gguf_array<std::string_view>(file_, kMergesKey, "strings"));
    if (lines->size() > std::numeric_limits<int32_t>::max()) {
      return gguf_fault(file_, kMergesKey, "has too many merges");
    }
    std::unordered_set<uint64_t> pairs;
    pairs.reserve(lines->size());
    std::vector<BpeMerge> merges;
    merges.reserve(lines->size());
    for (size_t rank = 0; rank < lines->size(); ++rank) {
      SLUICE_ASSIGN_OR_RETURN(const std::optional<BpeMerge> merge, parse(rank, (*lines)[rank]));
      if (!merge) continue;
      const bool is_new = pairs.insert(pair_key(merge->left, merge->right)).second;
      if (!is_new) return gguf_fault_at(file_, kMergesKey, rank, (*lines)[rank], "is there twice");
      merges.push_back(*merge);
    }
    return merges;
  }

 private:
  Result<std::optional<BpeMerge>> parse(size_t rank, std::string_view line) const {
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos) {
      return gguf_fault_at(file_, kMergesKey, rank, line, "is not two tokens with a blank between them");
    }
    const std::string left(line.substr(0, blank));
    const std::string right(line.substr(blank + 1));
    std::array<int32_t, 3> ids{};
    const std::array<std::string, 3> names = {left, right, left + right};
    bool makes_special = false;
    for (size_t i = 0; i < names.size(); ++i) {
      const auto token = vocabulary_.id_of_name.find(names[i]);
      if (token == vocabulary_.id_of_name.end()) {
        return gguf_fault_at(file_, kMergesKey, rank, line,
                             "names \"" + printable_name(names[i]) + "\", which is no token");
      }
      ids[i] = token->second;
      makes_special = makes_special || vocabulary_.kind(token->second) == GgufTokenKind::kSpecial;
    }
    if (makes_special) return std::optional<BpeMerge>();
    return std::optional<BpeMerge>(
        {.left = ids[0], .right = ids[1], .merged = ids[2], .rank = static_cast<int32_t>(rank)});
  }

  const GgufFile& file_;
  const GgufVocabulary& vocabulary_;
};

BpeSymbols symbols_of(const GgufVocabulary& vocabulary, bool are_spelled) {
  BpeSymbols symbols;
  symbols.are_characters = are_spelled;
  for (size_t byte = 0; byte < 256; ++byte) {
    const std::string spelling = spell_byte(static_cast<uint8_t>(byte));
    const std::optional<int32_t> id = vocabulary.mergeable_id(spelling);
    if (!id) continue;
    if (are_spelled) {
      symbols.character_ids.emplace(first_character(spelling), *id);
    } else {
      symbols.byte_ids[byte] = id;
    }
  }
  return symbols;
}

WordIds whole_words_of(const GgufVocabulary& vocabulary, const std::vector<TokenText>& texts) {
  WordIds ids;
  ids.reserve(texts.size());
  for (size_t id = 0; id < texts.size(); ++id) {
    const bool is_word = vocabulary.kinds[id] == GgufTokenKind::kWord && bytes_of_spelling(vocabulary.names[id]);
    if (is_word) ids.emplace(texts[id].bytes, static_cast<int32_t>(id));
  }
  return ids;
}

}  // namespace

Result<TokenizerSpec> gguf_byte_level_spec(const GgufFile& file) {
  SLUICE_ASSIGN_OR_RETURN(GgufPretokenizer pretokenizer, read_pretokenizer(file));
  SLUICE_ASSIGN_OR_RETURN(const GgufVocabulary vocabulary, GgufVocabulary::read(file));
  TokenizerSpec spec;
  spec.tokens = texts_of(vocabulary);
  spec.model.symbols = symbols_of(vocabulary, pretokenizer.spells_bytes);
  SLUICE_ASSIGN_OR_RETURN(spec.model.merges, MergeReader(file, vocabulary).read());
  if (pretokenizer.takes_whole_words) spec.model.whole_words = whole_words_of(vocabulary, spec.tokens);
  spec.normalizer = std::move(pretokenizer.normalizer);
  spec.pretokenizer = Pretokenizer(std::move(pretokenizer.stages));
  add_gguf_special_tokens(vocabulary, pretokenizer.adds_bos, spec);
  return spec;
}

}  // namespace sluice::engine
