#pragma once

#include <cstdint>
#include <ostream>

namespace sluice::bench {

/// One line that is drawn over itself, for a terminal. Without a terminal nothing is drawn.
class ProgressBar {
 public:
  ProgressBar(std::ostream& out, bool is_terminal) : out_(out), is_terminal_(is_terminal) {}

  /// `share` done, 0 to 1.
  void draw(double share, int64_t requests_done);
  /// Removes it again.
  void clear();

 private:
  std::ostream& out_;
  const bool is_terminal_;
};

}  // namespace sluice::bench
