#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace sluice {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

/// One line per event to one stream. As text it is `2026-11-29T15:40:00.123Z INFO message key=value …`, values with
/// blanks being quoted and empty ones left out; as JSON an object of strings with `time`, `level`, `message` and the
/// same keys. Values are UTF-8. Thread-safe. Never called from the serving loop's hot path, and never given prompt text
/// or secrets above kDebug.
class Logger {
 public:
  using WallClock = std::function<std::chrono::system_clock::time_point()>;
  struct Field {
    std::string_view key;
    std::string value;
  };

  /// The stream is lent and must outlive the logger.
  Logger(std::FILE* stream, LogLevel level, WallClock wall_clock, LogFormat format = LogFormat::kText);

  void debug(std::string_view message, std::initializer_list<Field> fields = {}) {
    log(LogLevel::kDebug, message, fields);
  }
  void info(std::string_view message, std::initializer_list<Field> fields = {}) {
    log(LogLevel::kInfo, message, fields);
  }
  void warning(std::string_view message, std::initializer_list<Field> fields = {}) {
    log(LogLevel::kWarning, message, fields);
  }
  void error(std::string_view message, std::initializer_list<Field> fields = {}) {
    log(LogLevel::kError, message, fields);
  }

 private:
  void log(LogLevel level, std::string_view message, std::initializer_list<Field> fields);

  Mutex mutex_;
  std::FILE* const stream_ SLUICE_GUARDED_BY(mutex_);
  const LogLevel level_;
  const WallClock wall_clock_;
  const LogFormat format_;
};

}  // namespace sluice
