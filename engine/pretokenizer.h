#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "engine/text_pattern.h"

namespace sluice::engine {

/// What becomes of the places where a pattern matches, under the names of Hugging Face's tokenizers.
enum class SplitBehavior {
  kIsolated,            ///< each is a piece
  kRemoved,             ///< they are left out
  kMergedWithPrevious,  ///< each ends the piece before it
  kMergedWithNext,      ///< each begins the piece after it
  kContiguous,          ///< neighbouring ones are one piece
};

/// When something is put before a piece that does not begin with it already, or with a blank.
enum class PrefixScheme {
  kAlways,  ///< before each
  kFirst,   ///< before the one that begins the text
};

/// Cuts text into the words that byte-pair merges never cross, and spells them as the vocabulary does. Movable;
/// thread-safe.
class Pretokenizer {
 public:
  struct Split {
    TextPattern pattern;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool is_inverted = false;  ///< what lies between matches counts as the matches
  };
  struct ReplaceBlanks {
    std::string by;
  };
  struct Prefix {
    std::string text;
    PrefixScheme scheme = PrefixScheme::kAlways;
    /// Also before a piece that begins with it: SentencePiece's dummy prefix.
    bool is_unconditional = false;
  };
  /// Bytes become the characters of GPT-2's alphabet (bpe_alphabet.h).
  struct SpellBytes {};
  using Stage = std::variant<Split, ReplaceBlanks, Prefix, SpellBytes>;
  using WordSink = std::function<void(std::string_view)>;

  /// Each stage works on the pieces of the one before.
  explicit Pretokenizer(std::vector<Stage> stages) : stages_(std::move(stages)) {}

  /// Gives `sink` the words in order; none is empty, and each lives as long as the call. `text` is valid UTF-8;
  /// `begins_text` tells whether it begins the whole text. Linear in the text as far as the patterns are.
  Status split(std::string_view text, bool begins_text, const WordSink& sink) const;

 private:
  std::vector<Stage> stages_;
};

}  // namespace sluice::engine
