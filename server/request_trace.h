#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "scheduler/loop_stats.h"
#include "server/request_record.h"

namespace sluice::server {

/// A file with one line of JSON per request, for `sluice-bench replay`. Lines are in order of ending and each is
/// written at once; a line that can't be written is dropped. One thread.
class RequestTrace final : public RequestObserver {
 public:
  using WallClock = std::function<std::chrono::system_clock::time_point()>;

  /// Appends to what the file holds. The error's field is "log.trace_path".
  static Result<std::unique_ptr<RequestTrace>> open(const std::string& path, WallClock wall_clock);

  /// Lines also say what steps cost, as the daemon has learnt it. The stats are lent; before the first note.
  void watch(const scheduler::LoopStats& stats) { stats_ = &stats; }

  void note(const RequestRecord& record) override;

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
