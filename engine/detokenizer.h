#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::engine {

class Tokenizer;

/// The longest prefix of `bytes` that does not end inside a UTF-8 character which later bytes could still complete.
size_t complete_utf8_prefix(std::string_view bytes);

/// Turns tokens of one sequence into text as they come. What it gives out is always whole, valid UTF-8: bytes of an unfinished character are
/// held back, bytes that can't become one come out as U+FFFD. Special tokens give no text. One thread.
class Detokenizer {
 public:
  /// The tokenizer is lent.
  explicit Detokenizer(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// Text that `id` completes; may be empty.
  std::string push(int32_t id);
  /// What is still held, as U+FFFD; call once at the end.
  std::string flush();

 private:
  const Tokenizer* tokenizer_;
  std::string held_;
};

}  // namespace sluice::engine
