#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "server/metrics.h"

namespace sluice::server {

/// What the trace says of a request that has ended, or was refused: when it came and how long everything was, no text.
struct TracedRequest {
  Duration since_arrival{};
  std::optional<Duration> until_deadline;  ///< from arrival
  int32_t prompt_tokens = 0;
  int32_t cached_tokens = 0;
  int32_t max_tokens = 0;         ///< per choice
  int32_t completion_tokens = 0;  ///< over all choices
  int32_t choice_count = 1;
  int32_t priority = 0;
  std::string tenant;
  Outcome outcome = Outcome::kStop;
};

/// A file with one line of JSON per request, for `sluice-bench replay`. Lines are in order of ending and each is
/// written at once; a line that can't be written is dropped. One thread.
class RequestTrace {
 public:
  using WallClock = std::function<std::chrono::system_clock::time_point()>;

  /// Appends to what the file holds. The error's field is "log.trace_path".
  static Result<std::unique_ptr<RequestTrace>> open(const std::string& path, WallClock wall_clock);

  /// Lines also say what steps cost, as the daemon has learnt it. The stats are lent; before the first append.
  void watch(const scheduler::LoopStats& stats) { stats_ = &stats; }

  void append(const TracedRequest& request);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  RequestTrace(std::FILE* file, WallClock wall_clock) : file_(file), wall_clock_(std::move(wall_clock)) {}

  std::unique_ptr<std::FILE, Close> file_;
  WallClock wall_clock_;
  const scheduler::LoopStats* stats_ = nullptr;
};

}  // namespace sluice::server
