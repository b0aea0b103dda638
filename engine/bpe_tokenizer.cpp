#include "engine/bpe_tokenizer.h"

#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/utf8.h"

namespace sluice::engine {

BpeTokenizer::BpeTokenizer(TokenizerSpec spec)
    : tokens_(std::move(spec.tokens)),
      added_(std::move(spec.added)),
      added_normalized_(std::move(spec.added_normalized)),
      normalizer_(std::move(spec.normalizer)),
      pretokenizer_(std::move(spec.pretokenizer)),
      whole_words_(std::move(spec.model.whole_words)),
      merger_(std::move(spec.model.symbols), spec.model.merges),
      bos_id_(spec.bos_id),
      prefix_ids_(std::move(spec.prefix_ids)),
      suffix_ids_(std::move(spec.suffix_ids)),
      end_ids_(std::move(spec.end_ids)),
      dropped_blanks_(spec.dropped_blanks) {}

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
  Encoding out;
  size_t done = 0;
  while (const std::optional<AddedTokens::Match> name = added_.find(text, done, special)) {
    SLUICE_RETURN_IF_ERROR(encode_plain(text.substr(done, name->begin - done), done == 0, out));
    out.ids.push_back(name->id);
    done = name->end;
  }
  SLUICE_RETURN_IF_ERROR(encode_plain(text.substr(done), done == 0, out));
  return std::move(out.ids);
}

const TokenText& BpeTokenizer::token(int32_t id) const {
  SLUICE_CHECK(id >= 0 && id < vocab_size());
  return tokens_[static_cast<size_t>(id)];
}

Status BpeTokenizer::encode_plain(std::string_view text, bool begins_text, Encoding& out) const {
  if (text.empty()) return {};
  if (normalizer_.is_identity()) return encode_normalized(text, begins_text, out);
  SLUICE_ASSIGN_OR_RETURN(const std::string normalized, normalizer_.apply(text));
  return encode_normalized(normalized, begins_text, out);
}

Status BpeTokenizer::encode_normalized(std::string_view text, bool begins_text, Encoding& out) const {
  const SpecialBytes none;
  size_t done = 0;
  while (const std::optional<AddedTokens::Match> name = added_normalized_.find(text, done, none)) {
    SLUICE_RETURN_IF_ERROR(encode_words(text.substr(done, name->begin - done), begins_text && done == 0, out));
    out.ids.push_back(name->id);
    done = name->end;
  }
  return encode_words(text.substr(done), begins_text && done == 0, out);
}

Status BpeTokenizer::encode_words(std::string_view text, bool begins_text, Encoding& out) const {
  return pretokenizer_.split(text, begins_text, [&](std::string_view word) { encode_word(word, out); });
}

void BpeTokenizer::encode_word(std::string_view word, Encoding& out) const {
  if (!whole_words_.empty()) {
    const auto whole = whole_words_.find(word);
    if (whole != whole_words_.end()) {
      out.ids.push_back(whole->second);
      return;
    }
  }
  merger_.encode(word, out.scratch, out.ids);
}

}  // namespace sluice::engine
