#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/utf8.h"

namespace sluice::engine {

class Tokenizer;

/// Turns tokens of one sequence into text as they come. What it gives out is always whole, valid UTF-8: bytes of an
/// unfinished character are held back, bytes that can't become one come out as U+FFFD. Special tokens give no text. One
/// thread.
class Detokenizer {
 public:
  /// The tokenizer is lent.
  explicit Detokenizer(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// Text that `id`, in [0, vocab_size), completes; may be empty.
  std::string push(int32_t id);
  /// What is still held, as U+FFFD; call once at the end.
  std::string flush();

 private:
  const Tokenizer* tokenizer_;
  std::string held_;  ///< at most 3 bytes between calls
};

}  // namespace sluice::engine
