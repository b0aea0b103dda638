#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/utf8.h"

namespace sluice::engine {

class Tokenizer;

/// What a sequence of tokens stands for.
enum class TextExtent {
  kContinuation,  ///< text that goes on after other text, as an answer does
  kWhole,         ///< a text from its beginning, which loses the blanks that encoding puts there
};

/// Turns tokens of one sequence into text as they come. What it gives out is always whole, valid UTF-8: bytes of an
/// unfinished character are held back, bytes that can't become one come out as U+FFFD. Special tokens give no text. One
/// thread.
class Detokenizer {
 public:
  /// The tokenizer is lent.
  explicit Detokenizer(const Tokenizer& tokenizer, TextExtent extent = TextExtent::kContinuation);

  /// Text that `id`, in [0, vocab_size), completes; may be empty.
  std::string push(int32_t id);
  /// The same, but a special token gives its name, which ends an unfinished character.
  std::string push_with_name(int32_t id);
  /// What is still held, as U+FFFD; call at the end. What comes after it goes on.
  std::string flush();

 private:
  /// Cuts off the blanks that a whole text begins with.
  std::string_view without_dropped_blanks(std::string_view bytes);

  const Tokenizer* tokenizer_;
  std::string held_;        ///< at most 3 bytes between calls
  size_t blanks_left_ = 0;  ///< to drop before anything else comes
};

}  // namespace sluice::engine
