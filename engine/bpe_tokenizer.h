#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/added_tokens.h"
#include "engine/bpe_merger.h"
#include "engine/pretokenizer.h"
#include "engine/text_normalizer.h"
#include "engine/tokenizer.h"
#include "engine/tokenizer_spec.h"

namespace sluice::engine {

/// Byte-pair encoding as a TokenizerSpec says.
class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(TokenizerSpec spec);

  Result<std::vector<int32_t>> encode(std::string_view text, SpecialTokens special) const override;
  Result<std::vector<int32_t>> encode(std::span<const TextRun> runs) const override;
  std::string_view token_bytes(int32_t id) const override { return token(id).bytes; }
  bool is_special(int32_t id) const override { return token(id).is_special; }
  int32_t vocab_size() const override { return static_cast<int32_t>(tokens_.size()); }
  std::optional<int32_t> bos_id() const override { return bos_id_; }
  bool adds_bos() const override { return bos_id_ && !prefix_ids_.empty() && prefix_ids_.front() == *bos_id_; }
  std::span<const int32_t> end_ids() const override { return end_ids_; }
  std::span<const int32_t> prefix_ids() const override { return prefix_ids_; }
  std::span<const int32_t> suffix_ids() const override { return suffix_ids_; }
  LeadingBlanks dropped_blanks() const override { return dropped_blanks_; }

 private:
  /// What one text becomes.
  struct Encoding {
    BpeMerger::Scratch scratch;
    std::vector<int32_t> ids;
  };

  const TokenText& token(int32_t id) const;
  Result<std::vector<int32_t>> encode_whole(std::string_view text, const SpecialBytes& special) const;
  /// A stretch of the text without names.
  Status encode_plain(std::string_view text, bool begins_text, Encoding& out) const;
  /// A stretch of the text when it is normalised.
  Status encode_normalized(std::string_view text, bool begins_text, Encoding& out) const;
  Status encode_words(std::string_view text, bool begins_text, Encoding& out) const;
  void encode_word(std::string_view word, Encoding& out) const;

  const std::vector<TokenText> tokens_;
  const AddedTokens added_;
  const AddedTokens added_normalized_;
  const TextNormalizer normalizer_;
  const Pretokenizer pretokenizer_;
  const WordIds whole_words_;
  const BpeMerger merger_;
  const std::optional<int32_t> bos_id_;
  const std::vector<int32_t> prefix_ids_;
  const std::vector<int32_t> suffix_ids_;
  const std::vector<int32_t> end_ids_;
  const LeadingBlanks dropped_blanks_;
};

}  // namespace sluice::engine
