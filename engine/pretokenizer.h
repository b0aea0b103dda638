#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/pretokenizer_pattern.h"

namespace sluice::engine {

/// Cuts text into the words that byte-pair merges never cross. Movable; thread-safe.
class Pretokenizer {
 public:
  /// By the name a GGUF file gives it in tokenizer.ggml.pre; any name but these is refused with the list of them.
  ///   gpt-2                           the pattern of GPT-2
  ///   (https://github.com/openai/gpt-2/blob/master/src/encoder.py) smollm                          every digit alone,
  ///   then the pattern of GPT-2 on each of the pieces llama-bpe, llama3, llama-v3     the pattern of Llama 3 (its
  ///   tokenizer.json): digits in threes qwen2                           the pattern of Qwen2 (its tokenizer.json):
  ///   every digit alone
  static Result<Pretokenizer> create(std::string_view name);

  /// Gives `sink` the words in order; joined they are `text` again. They point into `text`, which is valid UTF-8.
  /// Linear in the text.
  Status split(std::string_view text, const PieceSink& sink) const;

  /// Whether a word that is a token is taken whole, even if no merges lead to it (Llama 3's tokenizer.json:
  /// ignore_merges).
  bool takes_whole_words() const { return takes_whole_words_; }
  /// Whether prompts begin with bos when the file doesn't say (Llama 3, whose files often don't).
  bool adds_bos_by_default() const { return adds_bos_by_default_; }

 private:
  Pretokenizer() = default;
  Status split_from(size_t stage, std::string_view text, const PieceSink& sink) const;

  std::vector<PretokenizerPattern> stages_;  ///< each cuts the pieces of the one before
  bool takes_whole_words_ = false;
  bool adds_bos_by_default_ = false;
};

}  // namespace sluice::engine
