#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/byte_token.h"
#include "engine/gguf.h"
#include "engine/gguf_tokenizer.h"
#include "engine/gguf_vocabulary.h"
#include "engine/utf8.h"

namespace sluice::engine {
namespace {

constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr std::string_view kBlank = "\u2581";  // what a blank is in the vocabulary
constexpr size_t kMergedBytesMax = 1024;       // a longer token would take quadratic time to cut in two

std::string with_blanks(std::string_view name) {
  std::string text;
  for (size_t at = 0; at < name.size();) {
    const bool is_blank = name.substr(at).starts_with(kBlank);
    text += is_blank ? std::string_view(" ") : name.substr(at, 1);
    at += is_blank ? kBlank.size() : 1;
  }
  return text;
}

/// Places of the tokens' scores among all different ones, the best first: where scores are equal, so are the ranks.
Result<std::vector<int32_t>> read_ranks(const GgufFile& file, size_t count) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<double>* const scores, gguf_array<double>(file, kScoresKey, "numbers"));
  if (scores->size() != count) {
    return gguf_fault(file, kScoresKey,
                      "has " + std::to_string(scores->size()) + " elements for " + std::to_string(count) + " tokens");
  }
  for (const double score : *scores) {
    if (!std::isfinite(score)) return gguf_fault(file, kScoresKey, "has a score that is not finite");
  }
  std::vector<double> best_first = *scores;
  std::sort(best_first.begin(), best_first.end(), std::greater<>());
  best_first.erase(std::unique(best_first.begin(), best_first.end()), best_first.end());
  std::vector<int32_t> ranks;
  ranks.reserve(count);
  for (const double score : *scores) {
    const auto place = std::lower_bound(best_first.begin(), best_first.end(), score, std::greater<>());
    ranks.push_back(static_cast<int32_t>(place - best_first.begin()));
  }
  return ranks;
}

bool is_merged(GgufTokenKind kind) {
  return kind == GgufTokenKind::kWord || kind == GgufTokenKind::kAdded;
}

/// Every way to make the token of two others.
void add_merges_of(const GgufVocabulary& vocabulary, int32_t id, int32_t rank, std::vector<BpeMerge>& merges) {
  const auto part = [&](std::string_view name) -> std::optional<int32_t> {
    const auto token = vocabulary.id_of_name.find(name);
    if (token == vocabulary.id_of_name.end() || !is_merged(vocabulary.kind(token->second))) return std::nullopt;
    return token->second;
  };
  const std::string_view name = vocabulary.names[static_cast<size_t>(id)];
  for (size_t at = utf8_step(name).size; at < name.size(); at += utf8_step(name.substr(at)).size) {
    const std::optional<int32_t> left = part(name.substr(0, at));
    const std::optional<int32_t> right = left ? part(name.substr(at)) : std::nullopt;
    if (right) merges.push_back({.left = *left, .right = *right, .merged = id, .rank = rank});
  }
}

Result<std::vector<BpeMerge>> read_merges(const GgufFile& file, const GgufVocabulary& vocabulary) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int32_t> ranks, read_ranks(file, vocabulary.names.size()));
  std::vector<BpeMerge> merges;
  for (size_t id = 0; id < vocabulary.names.size(); ++id) {
    if (!is_merged(vocabulary.kinds[id])) continue;
    const std::string_view name = vocabulary.names[id];
    if (name.size() > kMergedBytesMax) {
      return gguf_fault_at(file, kGgufTokensKey, id, name,
                           "is longer than " + std::to_string(kMergedBytesMax) + " bytes");
    }
    add_merges_of(vocabulary, static_cast<int32_t>(id), ranks[id], merges);
  }
  if (merges.size() > std::numeric_limits<int32_t>::max()) {
    return gguf_fault(file, kGgufTokensKey, "makes too many merges");
  }
  return merges;
}

/// Fills what the words begin with, and what the tokens stand for.
Status read_tokens(const GgufFile& file, const GgufVocabulary& vocabulary, TokenizerSpec& spec) {
  BpeSymbols& symbols = spec.model.symbols;
  symbols.are_characters = true;
  symbols.unknown_id = vocabulary.unknown_id;
  symbols.fuses_unknown = true;
  spec.tokens.resize(vocabulary.names.size());
  for (size_t id = 0; id < vocabulary.names.size(); ++id) {
    const std::string_view name = vocabulary.names[id];
    const GgufTokenKind kind = vocabulary.kinds[id];
    if (kind == GgufTokenKind::kByte) {
      const std::optional<uint8_t> byte = byte_of_token_name(name);
      if (!byte)
        return gguf_fault_at(file, kGgufTokensKey, id, name, "is of the type byte, but not named <0x00> to <0xFF>");
      symbols.byte_ids[*byte] = static_cast<int32_t>(id);
      spec.tokens[id].bytes = static_cast<char>(*byte);
      continue;
    }
    spec.tokens[id].bytes = kind == GgufTokenKind::kSpecial ? std::string(name) : with_blanks(name);
    const bool is_character = is_merged(kind) && utf8_step(name).size == name.size();
    if (is_character) symbols.character_ids.emplace(first_character(name), static_cast<int32_t>(id));
  }
  return {};
}

std::vector<Pretokenizer::Stage> stages(bool adds_blank) {
  std::vector<Pretokenizer::Stage> stages;
  stages.emplace_back(Pretokenizer::ReplaceBlanks{.by = std::string(kBlank)});
  if (adds_blank) {
    stages.emplace_back(
        Pretokenizer::Prefix{.text = std::string(kBlank), .scheme = PrefixScheme::kFirst, .is_unconditional = true});
  }
  return stages;
}

/// Phi 3's tokens of turns take the line end behind them, as its tokenizer.json says; GGUF has no place for that.
void let_phi3_tokens_take_blanks(const GgufFile& file, TokenizerSpec& spec) {
  const Result<std::string_view> architecture = file.get_string("general.architecture");
  if (!architecture.ok() || *architecture != "phi3") return;
  constexpr std::array<std::string_view, 3> kWithout = {"<unk>", "<s>", "<|endoftext|>"};
  for (AddedToken& token : spec.added) {
    token.takes_right = std::find(kWithout.begin(), kWithout.end(), token.name) == kWithout.end();
  }
}

}  // namespace

Result<TokenizerSpec> gguf_sentencepiece_spec(const GgufFile& file) {
  SLUICE_ASSIGN_OR_RETURN(const GgufVocabulary vocabulary, GgufVocabulary::read(file));
  SLUICE_ASSIGN_OR_RETURN(const bool adds_blank, file.get_bool_or("tokenizer.ggml.add_space_prefix", true));
  TokenizerSpec spec;
  SLUICE_RETURN_IF_ERROR(read_tokens(file, vocabulary, spec));
  SLUICE_ASSIGN_OR_RETURN(spec.model.merges, read_merges(file, vocabulary));
  spec.pretokenizer = Pretokenizer(stages(adds_blank));
  spec.dropped_blanks.count_max = adds_blank ? 1 : 0;
  add_gguf_special_tokens(vocabulary, true, spec);
  let_phi3_tokens_take_blanks(file, spec);
  return spec;
}

}  // namespace sluice::engine
