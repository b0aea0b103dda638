#pragma once

#include <chrono>
#include <string>

#include "base/logger.h"
#include "tests/server/kept_file.h"

namespace sluice::server {

/// A logger whose lines a test can read; all of them are of the first second of 1970.
class KeptLog {
 public:
  Logger& logger() { return logger_; }
  /// All lines so far.
  std::string text() const { return file_.text(); }

 private:
  const KeptFile file_;
  Logger logger_{file_.get(), LogLevel::kInfo, [] { return std::chrono::system_clock::time_point(); }};
};

}  // namespace sluice::server
