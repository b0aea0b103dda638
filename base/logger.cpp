#include "base/logger.h"

#include <array>
#include <ctime>
#include <utility>

namespace sluice {
namespace {

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarning:
      return "WARN";
    case LogLevel::kError:
      return "ERROR";
  }
  return "?";
}

std::string utc_timestamp(std::chrono::system_clock::time_point now) {
  const auto since_epoch = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  const std::time_t seconds = since_epoch / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> millis{};
  std::snprintf(millis.data(), millis.size(), ".%03dZ", static_cast<int>(since_epoch % 1000));
  return std::string(text.data(), length) + millis.data();
}

void append_value(std::string& line, std::string_view value) {
  if (!value.empty() && value.find_first_of(" \"=\n\r\t") == std::string_view::npos) {
    line += value;
    return;
  }
  line += '"';
  for (const char c : value) {
    if (c == '\n' || c == '\r') {
      line += ' ';  // one event, one line
      continue;
    }
    if (c == '"' || c == '\\') line += '\\';
    line += c;
  }
  line += '"';
}

}  // namespace

Logger::Logger(std::FILE* stream, LogLevel level, WallClock wall_clock)
    : stream_(stream), level_(level), wall_clock_(std::move(wall_clock)) {}

void Logger::log(LogLevel level, std::string_view message, std::initializer_list<Field> fields) {
  if (level < level_) return;
  std::string line = utc_timestamp(wall_clock_());
  line += ' ';
  line += level_name(level);
  line += ' ';
  line += message;
  for (const Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    append_value(line, field.value);
  }
  line += '\n';
  const MutexLock lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), stream_);
  std::fflush(stream_);
}

}  // namespace sluice
