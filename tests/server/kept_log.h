#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "base/logger.h"

namespace sluice::server {

/// A logger whose lines a test can read; all of them are of the first second of 1970.
class KeptLog {
 public:
  Logger& logger() { return logger_; }
  /// All lines so far.
  std::string text() const {
    std::rewind(file_.get());
    std::string text;
    for (int c = std::fgetc(file_.get()); c != EOF; c = std::fgetc(file_.get())) text += static_cast<char>(c);
    return text;
  }

 private:
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), &std::fclose};
  Logger logger_{file_.get(), LogLevel::kInfo, [] { return std::chrono::system_clock::time_point(); }};
};

}  // namespace sluice::server
