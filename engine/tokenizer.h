#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::engine {

class GgufFile;

enum class SpecialTokens {
  kAsText,  ///< "<|im_end|>" in the text is eleven ordinary characters; what user text always gets
  kParse,   ///< names of special tokens become those tokens
};

/// Text to token ids and back. Immutable, thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Byte-level BPE ("gpt2" model) with one of the pre-tokenizers smollm, gpt-2, llama-bpe, qwen2; anything else is refused by name.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufFile& file);

  /// Ids of `text`, without bos. Linear in the text. Text that is not UTF-8 is INVALID_ARGUMENT.
  virtual Result<std::vector<int32_t>> encode(std::string_view text, SpecialTokens special) const = 0;

  /// The bytes a token stands for, perhaps only part of a character; a special token's name. `id` is in [0, vocab_size).
  virtual std::string_view token_bytes(int32_t id) const = 0;
  /// True for control tokens, which generated text leaves out.
  virtual bool is_special(int32_t id) const = 0;

  virtual int32_t vocab_size() const = 0;
  virtual std::optional<int32_t> bos_id() const = 0;
  virtual bool adds_bos() const = 0;  ///< whether a prompt of plain text begins with bos
  /// Tokens that end a generation (eos, end of turn), ascending.
  virtual std::span<const int32_t> end_ids() const = 0;
};

}  // namespace sluice::engine
