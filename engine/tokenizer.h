#pragma once

#include <cstddef>
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

/// Blanks that the text of a whole sequence of tokens loses at its beginning, since encoding puts one there.
struct LeadingBlanks {
  size_t count_max = 0;
  bool first_token_only = false;  ///< only those of the first token
};

/// Text to token ids and back. Immutable, thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// tokenizer.ggml.model "gpt2", byte-level BPE with one of the pre-tokenizers of gguf_pretokenizers.h, or "llama",
  /// SentencePiece's BPE; anything else is refused by name. A vocabulary that contradicts itself is refused too; errors
  /// name the file and the key. Keeps nothing of the file.
  static Result<std::unique_ptr<Tokenizer>> from_gguf(const GgufFile& file);

  /// The tokenizer.json of a Hugging Face folder, whose model is BPE, with what its tokenizer_config.json says about
  /// special tokens. A component of another type is refused by name, and so is a vocabulary that contradicts itself;
  /// errors name the file and the place in it.
  static Result<std::unique_ptr<Tokenizer>> from_folder(const std::string& folder);

  /// Ids of `text`, without what a prompt begins and ends with. Text that is not UTF-8 is INVALID_ARGUMENT. Takes time
  /// linear in the text, O(n log n) within one word, as far as the patterns of the tokenizer's file do.
  ///
  /// Added tokens that are no special ones are found in any text. A character some byte of which has no token loses
  /// that byte unless there is an unknown token, as it does in the models' own tokenizers: SmolLM2, for one, has none
  /// for six control characters.
  virtual Result<std::vector<int32_t>> encode(std::string_view text, SpecialTokens special) const = 0;

  /// Ids of the runs' texts as one text: where runs meet makes no difference to words and merges. The name of a special
  /// token counts as that token only where every byte of it lies in runs that parse them, so nobody who writes the
  /// other runs can make one, not even by completing a name that begins in the run before.
  virtual Result<std::vector<int32_t>> encode(std::span<const TextRun> runs) const = 0;

  /// The bytes a token stands for, perhaps only part of a character; a special token's name. `id` is in [0,
  /// vocab_size). The bytes live as long as the tokenizer.
  virtual std::string_view token_bytes(int32_t id) const = 0;
  /// True for tokens that generated text leaves out: those the file marks as control, unknown or special, and bos and
  /// the end tokens it names.
  virtual bool is_special(int32_t id) const = 0;

  virtual int32_t vocab_size() const = 0;
  virtual std::optional<int32_t> bos_id() const = 0;
  /// Whether a prompt of plain text begins with bos, as the file says; a GGUF file that doesn't say means yes for
  /// SentencePiece's BPE and for the pre-tokenizers of models that want it. Never true without a bos.
  virtual bool adds_bos() const = 0;
  /// Tokens that end a generation, ascending: the file's eos, eot and eom, and the special tokens <|endoftext|>,
  /// <|im_end|>, <|end_of_text|>, <|eot_id|>, <|eom_id|>, <|end|> and <end_of_turn>, since files often name only one of
  /// those that their model uses.
  virtual std::span<const int32_t> end_ids() const = 0;

  /// What the model's own tokenizer puts before and after a plain text: mostly nothing, or bos before it.
  virtual std::span<const int32_t> prefix_ids() const { return {}; }
  virtual std::span<const int32_t> suffix_ids() const { return {}; }
  /// What Detokenizer leaves out at the beginning of a whole text.
  virtual LeadingBlanks dropped_blanks() const { return {}; }
};

}  // namespace sluice::engine
