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

/// Names that are found in text as they stand, before any merging. Immutable, thread-safe.
class BpeAddedTokens {
 public:
  struct Name {
    std::string text;  ///< not empty
    int32_t id = 0;
    bool is_special = false;  ///< found only among special bytes
  };
  struct Match {
    size_t begin = 0;
    size_t size = 0;
    int32_t id = 0;
  };

  explicit BpeAddedTokens(std::vector<Name> names);

  /// The first place at or after `from` where a name stands, and the longest name there. A place costs at most the
  /// longest name's size times the logarithm of the number of names; one that no name begins with costs one look.
  std::optional<Match> find(std::string_view text, size_t from, const SpecialBytes& special) const;

 private:
  std::optional<Match> longest_at(std::string_view text, size_t begin, const SpecialBytes& special) const;

  std::vector<Name> names_;  // ascending by text
  std::array<bool, 256> begins_name_{};
};

}  // namespace sluice::engine
