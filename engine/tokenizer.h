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
  kAsText,  ///< "<|im_end|>" in the text is ten ordinary characters; what user text always gets
  kParse,   ///< names of special tokens become those tokens
};

/// A stretch of a text that has several writers.
struct TextRun {
  std::string text;
  SpecialTokens special = SpecialTokens::kAsText;
  friend bool operator==(const TextRun&, const TextRun&) = default;
};

/// Text to token ids and back. Immutable, thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Byte-level BPE (tokenizer.ggml.model "gpt2") with one of the pre-tokenizers smollm, gpt-2, llama-bpe (also llama3,
  /// llama-v3), qwen2; anything else is refused by name. A vocabulary that contradicts itself is refused too; errors
  /// name the file and the key. Keeps nothing of the file.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufFile& file);

  /// Ids of `text`, without bos. Text that is not UTF-8 is INVALID_ARGUMENT. Takes time linear in the text, O(n log n)
  /// within one word.
  ///
  /// Added tokens that are no special ones (type "user defined") are found in any text. A character some byte of which
  /// has no token loses that byte, as it does in the models' own tokenizers: SmolLM2, for one, has none for six control
  /// characters.
  virtual Result<std::vector<int32_t>> encode(std::string_view text, SpecialTokens special) const = 0;

  /// Ids of the runs' texts as one text: where runs meet makes no difference to words and merges. The name of a special
  /// token counts as that token only where every byte of it lies in runs that parse them, so nobody who writes the
  /// other runs can make one, not even by completing a name that begins in the run before.
  virtual Result<std::vector<int32_t>> encode(std::span<const TextRun> runs) const = 0;

  /// The bytes a token stands for, perhaps only part of a character; a special token's name. `id` is in [0,
  /// vocab_size). The bytes live as long as the tokenizer.
  virtual std::string_view token_bytes(int32_t id) const = 0;
  /// True for tokens that generated text leaves out: those the file marks as control or unknown, and bos and the end
  /// tokens it names.
  virtual bool is_special(int32_t id) const = 0;

  virtual int32_t vocab_size() const = 0;
  virtual std::optional<int32_t> bos_id() const = 0;
  /// Whether a prompt of plain text begins with bos: tokenizer.ggml.add_bos_token; without that key true for llama-bpe
  /// only, since Llama 3's own tokenizer adds it and its files don't say so. Never true without a bos.
  virtual bool adds_bos() const = 0;
  /// Tokens that end a generation, ascending: the file's eos, eot and eom, and the special tokens <|endoftext|>,
  /// <|im_end|>,
  /// <|end_of_text|>, <|eot_id|>, <|eom_id|> and <|end|>, since files often name only one of those that their model
  /// uses.
  virtual std::span<const int32_t> end_ids() const = 0;
};

}  // namespace sluice::engine
