#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "engine/bpe_added_tokens.h"
#include "engine/bpe_merger.h"
#include "engine/bpe_vocabulary.h"
#include "engine/pretokenizer.h"
#include "engine/tokenizer.h"

namespace sluice::engine {

/// Byte-level BPE as of GPT-2: names of added tokens are cut out, the rest is cut into words, and each word's bytes are
/// merged.
class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(BpeVocabulary vocabulary, Pretokenizer pretokenizer);

  Result<std::vector<int32_t>> encode(std::string_view text, SpecialTokens special) const override;
  Result<std::vector<int32_t>> encode(std::span<const TextRun> runs) const override;
  std::string_view token_bytes(int32_t id) const override { return token(id).bytes; }
  bool is_special(int32_t id) const override { return token(id).kind == BpeTokenKind::kSpecial; }
  int32_t vocab_size() const override { return static_cast<int32_t>(vocabulary_.tokens.size()); }
  std::optional<int32_t> bos_id() const override { return vocabulary_.bos_id; }
  bool adds_bos() const override { return adds_bos_; }
  std::span<const int32_t> end_ids() const override { return vocabulary_.end_ids; }

 private:
  const BpeToken& token(int32_t id) const;
  Result<std::vector<int32_t>> encode_whole(std::string_view text, const SpecialBytes& special) const;
  Status encode_plain(std::string_view text, BpeMerger::Scratch& scratch, std::vector<int32_t>& ids) const;
  void encode_word(std::string_view word, BpeMerger::Scratch& scratch, std::vector<int32_t>& ids) const;

  const BpeVocabulary vocabulary_;
  const Pretokenizer pretokenizer_;
  const bool adds_bos_;
  const BpeMerger merger_;
  const BpeAddedTokens added_;
  const std::unordered_map<std::string_view, int32_t> whole_words_;  ///< empty where merges alone decide
};

}  // namespace sluice::engine
