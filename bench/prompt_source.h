#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/target.h"

namespace sluice::bench {

/// Synthetic prompts, a pure function of seed and number: token ids drawn from a vocabulary, or words for servers that
/// take text only. The first ids of any two prompts differ until the vocabulary is used up, so that no two share a
/// prefix but the one that is given to them.
class PromptSource {
 public:
  /// `excluded` ids are never drawn: end tokens would not be an ordinary text's. FAILED_PRECONDITION when nothing is
  /// left to draw.
  static Result<PromptSource> of_tokens(int32_t vocab_size, const std::vector<int32_t>& excluded, uint64_t seed);
  /// Short words of English, which most vocabularies have as one token each, so that a length in tokens is about right;
  /// `form` is kText or kChat.
  static PromptSource of_words(PromptForm form, uint64_t seed);

  /// `length` tokens, after the first `shared` of what is common to all prompts.
  Ask::Prompt prompt(uint64_t number, int32_t length, int32_t shared) const;

 private:
  PromptSource(PromptForm form, std::vector<int32_t> ids, uint64_t seed);
  std::vector<size_t> choices(uint64_t number, int32_t length, int32_t shared) const;
  size_t choice_count() const;

  PromptForm form_;
  std::vector<int32_t> ids_;  // what may be drawn, of kTokens
  uint64_t seed_;
};

/// `before` with more to come after it: what an answer or the next turn adds.
Ask::Prompt operator+(Ask::Prompt before, const Ask::Prompt& more);

}  // namespace sluice::bench
