#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine {

/// Finds stop strings in text that comes in pieces and holds back what might become one. One thread.
///
/// The stop string that is complete first wins, and of several that end at the same byte the longest: the result
/// doesn't depend on how the text is cut into pieces, and a generation ends as soon as it can. Where text and stop
/// strings are whole UTF-8, so is all that comes out. Takes time linear in the text, per stop string.
class StopMatcher {
 public:
  /// None of `stops` is empty; the caller has checked.
  explicit StopMatcher(std::vector<std::string> stops);

  /// Text that is now safe to show. Once a stop string is complete, the text before it comes out, `stopped()` is true
  /// and nothing follows.
  std::string push(std::string_view text);
  /// The tail still held back, at the end of a generation that no stop string ended.
  std::string flush();

  bool stopped() const { return !matched_.empty(); }
  /// The stop string that was met; empty before that.
  const std::string& matched() const { return matched_; }

 private:
  /// One stop string and how far the text so far matches it (Knuth, Morris & Pratt 1977).
  struct Pattern {
    std::string text;
    std::vector<size_t> border;  // [text.size()] longest proper prefix of text[0..i] that is also its suffix
    size_t matched = 0;          ///< bytes of `text` that the end of the seen text equals
  };

  static std::vector<size_t> borders(std::string_view text);
  /// True when `byte` completes the pattern.
  static bool advance(Pattern& pattern, char byte);
  /// The longest pattern that `byte` completes; nullptr when there is none.
  const Pattern* advance_all(char byte);
  /// The text held back: the longest end of the text so far that a pattern begins with, so it is a view of that
  /// pattern.
  std::string_view held() const;

  std::vector<Pattern> patterns_;
  std::string matched_;
};

}  // namespace sluice::engine
