#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/clock.h"
#include "base/logger.h"

namespace sluice::server {

/// Tells people how far the loading of a model's weights is: on a terminal by a line that is written over, elsewhere by
/// a line in the log every few seconds. Nothing is told of a model that takes no time. One thread.
class LoadProgress {
 public:
  struct Parts {
    const Clock& clock;             ///< lent
    Logger& logger;                 ///< lent
    std::FILE* terminal = nullptr;  ///< lent; none: the log
    int64_t bytes = 0;              ///< of all weights
  };
  static constexpr int64_t kBytesMin = int64_t{256} << 20U;  ///< of a model worth a word
  static constexpr Duration kTerminalPeriod = std::chrono::milliseconds(100);
  static constexpr Duration kLogPeriod = std::chrono::seconds(5);

  explicit LoadProgress(const Parts& parts) : parts_(parts), began_(parts.clock.now()), told_(began_) {}

  /// So many bytes are taken over.
  void advance(int64_t bytes);
  /// All of them are: clears the terminal's line.
  void finish();
  double seconds() const { return to_seconds(parts_.clock.now() - began_); }

 private:
  Parts parts_;
  TimePoint began_;
  TimePoint told_;
  bool has_line_ = false;
};

/// "1.25" for so many bytes in so many seconds; "0.00" when no time has passed.
std::string gigabytes_per_second(int64_t bytes, double seconds);

}  // namespace sluice::server
