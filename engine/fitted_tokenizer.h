#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/tokenizer.h"

namespace sluice::engine {

/// A tokenizer as its model needs it, where the files of a folder don't agree: a model may have embeddings for more
/// tokens than its tokenizer has, as padding, or for fewer, and generation_config.json may know further ends.
class FittedTokenizer final : public Tokenizer {
 public:
  /// `vocab_size` is the model's; `end_ids` are in it.
  FittedTokenizer(std::unique_ptr<Tokenizer> tokenizer, int32_t vocab_size, std::span<const int32_t> end_ids);

  /// INVALID_ARGUMENT when the text has a token that the model has no embedding for.
  Result<std::vector<int32_t>> encode(std::string_view text, SpecialTokens special) const override;
  Result<std::vector<int32_t>> encode(std::span<const TextRun> runs) const override;
  /// Empty for padding.
  std::string_view token_bytes(int32_t id) const override;
  bool is_special(int32_t id) const override;
  int32_t vocab_size() const override { return vocab_size_; }
  std::optional<int32_t> bos_id() const override;
  bool adds_bos() const override { return bos_id().has_value() && tokenizer_->adds_bos(); }
  std::span<const int32_t> end_ids() const override { return end_ids_; }
  std::span<const int32_t> prefix_ids() const override { return tokenizer_->prefix_ids(); }
  std::span<const int32_t> suffix_ids() const override { return tokenizer_->suffix_ids(); }
  LeadingBlanks dropped_blanks() const override { return tokenizer_->dropped_blanks(); }

 private:
  Result<std::vector<int32_t>> checked(Result<std::vector<int32_t>> ids) const;

  std::unique_ptr<Tokenizer> tokenizer_;
  int32_t vocab_size_;
  std::vector<int32_t> end_ids_;  // ascending
};

}  // namespace sluice::engine
