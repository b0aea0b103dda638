#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/status.h"

namespace sluice::engine {

using PieceSink = std::function<void(std::string_view)>;

/// A regular expression that cuts text into pieces. Characters, \p{…} and letter case are those of Unicode. Movable;
/// thread-safe.
class PretokenizerPattern {
 public:
  /// `regex` is one of our own constants (PCRE2 syntax), so a fault in it is a bug.
  explicit PretokenizerPattern(std::string_view regex);
  PretokenizerPattern(PretokenizerPattern&&) noexcept;
  PretokenizerPattern& operator=(PretokenizerPattern&&) noexcept;
  ~PretokenizerPattern();

  /// Gives `sink` each match and each stretch of text between matches, in order: joined they are `text` again. The
  /// pieces point into `text`, which is valid UTF-8. Stack use doesn't depend on the text. An error means that the
  /// matcher ran out of its limits.
  Status split(std::string_view text, const PieceSink& sink) const;

 private:
  class Compiled;
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace sluice::engine
