#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "engine/text_pattern.h"

namespace sluice::engine {

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };  ///< Unicode Standard Annex 15

/// Rewrites text before it is cut into words. Movable; thread-safe.
class TextNormalizer {
 public:
  struct Replace {
    TextPattern pattern;
    std::string by;
  };
  struct Prepend {
    std::string text;  ///< put before text that is not empty
  };
  /// Each character by itself: a capital sigma never becomes the one that ends words.
  struct Lowercase {};
  /// White space at the ends.
  struct Strip {
    bool left = true;
    bool right = true;
  };
  /// Bytes become the characters of GPT-2's alphabet (bpe_alphabet.h).
  struct SpellBytes {};
  using Step = std::variant<UnicodeForm, Replace, Prepend, Lowercase, Strip, SpellBytes>;

  /// One that changes nothing.
  TextNormalizer() = default;
  explicit TextNormalizer(std::vector<Step> steps) : steps_(std::move(steps)) {}

  bool is_identity() const { return steps_.empty(); }

  /// The text after each step in turn; `text` is valid UTF-8. INVALID_ARGUMENT when a step makes more than 64 times the
  /// text of it.
  Result<std::string> apply(std::string_view text) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace sluice::engine
