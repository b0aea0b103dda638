#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::engine {

/// Finds stop strings in text that comes in pieces and holds back what might become one. One thread.
class StopMatcher {
 public:
  /// None of `stops` is empty; the caller has checked.
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Text that is now safe to show. Once a stop string is complete, the text before it comes out, `stopped()` is true and nothing follows.
  std::string push(std::string_view text);
  /// The tail still held back, at the end of a generation that no stop string ended.
  std::string flush();

  bool stopped() const { return !matched_.empty(); }
  /// The stop string that was met; empty before that.
  const std::string& matched() const { return matched_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  std::string matched_;
};

}  // namespace sluice::engine
