#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "base/status.h"

namespace sluice::engine {

/// A regular expression or a literal that is looked for in text. Characters, \p{…} and letter case are those of
/// Unicode; ^ and $ stand at the ends of lines. Movable; thread-safe.
class TextPattern {
 public:
  /// A match, or a stretch between matches. `text` points into the text that is searched.
  struct Part {
    std::string_view text;
    bool is_match = false;
  };
  using PartSink = std::function<void(const Part&)>;

  /// `regex` is in PCRE2's syntax. INVALID_ARGUMENT with PCRE2's words when it can't be compiled.
  static Result<TextPattern> compile(std::string_view regex);
  /// `text` itself, without meaning in any of its characters.
  static Result<TextPattern> literal(std::string_view text);

  TextPattern(TextPattern&&) noexcept;
  TextPattern& operator=(TextPattern&&) noexcept;
  ~TextPattern();

  /// Gives `sink` the matches and what lies between them, in order: joined they are `text` again. An empty match is a
  /// part of its own; stretches are never empty. `text` is valid UTF-8. Stack use doesn't depend on the text. An error
  /// means that the matcher ran out of its limits.
  Status split(std::string_view text, const PartSink& sink) const;

 private:
  class Compiled;
  explicit TextPattern(std::unique_ptr<const Compiled> compiled);
  static Result<TextPattern> compile(std::string_view regex, unsigned options);

  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace sluice::engine
