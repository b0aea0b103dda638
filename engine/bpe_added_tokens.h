#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine {

/// Names that are found in text as they stand, before any merging. Immutable, thread-safe.
class BpeAddedTokens {
 public:
  struct Name {
    std::string text;  ///< not empty
    int32_t id = 0;
  };
  struct Match {
    size_t begin = 0;
    size_t size = 0;
    int32_t id = 0;
  };

  explicit BpeAddedTokens(std::vector<Name> names);

  /// The first place at or after `from` where a name stands, and the longest name there. A place costs at most the
  /// longest name's size times the logarithm of the number of names; one that no name begins with costs one look.
  std::optional<Match> find(std::string_view text, size_t from) const;

 private:
  std::optional<Match> longest_at(std::string_view text, size_t begin) const;

  std::vector<Name> names_;  // ascending by text
  std::array<bool, 256> begins_name_{};
};

}  // namespace sluice::engine
