#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine {

/// Which bytes of a text may be part of a special token's name.
class SpecialBytes {
 public:
  /// Adds [begin, end); it begins at or after the end of what was added before.
  void add(size_t begin, size_t end);
  /// Whether all of [begin, end), which is not empty, was added.
  bool cover(size_t begin, size_t end) const;

 private:
  struct Span {
    size_t begin = 0;
    size_t end = 0;
  };
  std::vector<Span> spans_;  // ascending, with gaps between them
};

/// A token that is found in text by its name, before any merging.
struct AddedToken {
  std::string name;  ///< not empty
  int32_t id = 0;
  bool is_special = false;      ///< found only among special bytes
  bool is_single_word = false;  ///< found only where no letter, digit or _ stands beside it
  bool takes_left = false;      ///< white space before it belongs to it
  bool takes_right = false;     ///< white space after it belongs to it
};

/// The added tokens of one tokenizer. Immutable, thread-safe.
class AddedTokens {
 public:
  /// What of a text a token takes.
  struct Match {
    size_t begin = 0;
    size_t end = 0;
    int32_t id = 0;
  };

  explicit AddedTokens(std::vector<AddedToken> tokens);

  /// The first place at or after `from` where a name stands, and the longest name there. `text` is valid UTF-8. A place
  /// costs at most the longest name's size times the logarithm of the number of names; one that no name begins with
  /// costs one look.
  std::optional<Match> find(std::string_view text, size_t from, const SpecialBytes& special) const;

 private:
  const AddedToken* longest_at(std::string_view text, size_t begin, const SpecialBytes& special) const;

  std::vector<AddedToken> tokens_;  // ascending by name
  std::array<bool, 256> begins_name_{};
};

}  // namespace sluice::engine
