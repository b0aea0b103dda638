#include "engine/bpe_tokenizer.h"

#include <limits>
#include <utility>

#include "base/check.h"
#include "engine/utf8.h"

namespace sluice::engine {
namespace {

BpeAddedTokens names_of(const BpeVocabulary& vocabulary) {
  std::vector<BpeAddedTokens::Name> names;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const BpeToken& token = vocabulary.tokens[id];
    const bool is_special = token.kind == BpeTokenKind::kSpecial;
    if (!is_special && token.kind != BpeTokenKind::kAdded) continue;
    names.push_back({.text = token.bytes, .id = static_cast<int32_t>(id), .is_special = is_special});
  }
  return BpeAddedTokens(std::move(names));
}

/// The keys point into the vocabulary.
std::unordered_map<std::string_view, int32_t> whole_words_of(const BpeVocabulary& vocabulary) {
  std::unordered_map<std::string_view, int32_t> ids;
  ids.reserve(vocabulary.tokens.size());
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const BpeToken& token = vocabulary.tokens[id];
    if (token.kind == BpeTokenKind::kWord) ids.emplace(token.bytes, static_cast<int32_t>(id));
  }
  return ids;
}

}  // namespace

BpeTokenizer::BpeTokenizer(BpeVocabulary vocabulary, Pretokenizer pretokenizer)
    : vocabulary_(std::move(vocabulary)),
      pretokenizer_(std::move(pretokenizer)),
      adds_bos_(vocabulary_.bos_id && vocabulary_.adds_bos.value_or(pretokenizer_.adds_bos_by_default())),
      merger_(vocabulary_.byte_ids, vocabulary_.merges),
      added_(names_of(vocabulary_)),
      whole_words_(pretokenizer_.takes_whole_words() ? whole_words_of(vocabulary_)
                                                     : std::unordered_map<std::string_view, int32_t>()) {}

Result<std::vector<int32_t>> BpeTokenizer::encode(std::string_view text, SpecialTokens special) const {
  SpecialBytes bytes;
  if (special == SpecialTokens::kParse) bytes.add(0, text.size());
  return encode_whole(text, bytes);
}

Result<std::vector<int32_t>> BpeTokenizer::encode(std::span<const TextRun> runs) const {
  std::string text;
  SpecialBytes special;
  for (const TextRun& run : runs) {
    if (run.special == SpecialTokens::kParse) special.add(text.size(), text.size() + run.text.size());
    text += run.text;
  }
  return encode_whole(text, special);
}

Result<std::vector<int32_t>> BpeTokenizer::encode_whole(std::string_view text, const SpecialBytes& special) const {
  if (text.size() > std::numeric_limits<int32_t>::max()) return invalid_argument("text is longer than 2 GiB");
  if (!is_valid_utf8(text)) return invalid_argument("text is not valid UTF-8");
  BpeMerger::Scratch scratch;
  std::vector<int32_t> ids;
  size_t done = 0;
  while (const std::optional<BpeAddedTokens::Match> name = added_.find(text, done, special)) {
    SLUICE_RETURN_IF_ERROR(encode_plain(text.substr(done, name->begin - done), scratch, ids));
    ids.push_back(name->id);
    done = name->begin + name->size;
  }
  SLUICE_RETURN_IF_ERROR(encode_plain(text.substr(done), scratch, ids));
  return ids;
}

const BpeToken& BpeTokenizer::token(int32_t id) const {
  SLUICE_CHECK(id >= 0 && id < vocab_size());
  return vocabulary_.tokens[static_cast<size_t>(id)];
}

Status BpeTokenizer::encode_plain(std::string_view text, BpeMerger::Scratch& scratch, std::vector<int32_t>& ids) const {
  if (text.empty()) return {};
  return pretokenizer_.split(text, [&](std::string_view word) { encode_word(word, scratch, ids); });
}

void BpeTokenizer::encode_word(std::string_view word, BpeMerger::Scratch& scratch, std::vector<int32_t>& ids) const {
  if (const auto whole = whole_words_.find(word); whole != whole_words_.end()) {
    ids.push_back(whole->second);
    return;
  }
  merger_.encode(word, scratch, ids);
}

}  // namespace sluice::engine
