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
  if (value.find_first_of(" \"=\n\r\t") == std::string_view::npos) {
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

void append_json_string(std::string& line, std::string_view value) {
  line += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", byte);
      line += escape.data();
      continue;
    }
    if (c == '"' || c == '\\') line += '\\';
    line += c;
  }
  line += '"';
}

using Fields = std::initializer_list<Logger::Field>;

std::string text_line(std::string_view time, LogLevel level, std::string_view message, Fields fields) {
  std::string line(time);
  line += ' ';
  line += level_name(level);
  line += ' ';
  line += message;
  for (const Logger::Field& field : fields) {
    if (field.value.empty()) continue;
    line += ' ';
    line += field.key;
    line += '=';
    append_value(line, field.value);
  }
  return line + '\n';
}

std::string json_line(std::string_view time, LogLevel level, std::string_view message, Fields fields) {
  std::string line = "{";
  const auto append = [&line](std::string_view key, std::string_view value) {
    if (line.size() > 1) line += ',';
    append_json_string(line, key);
    line += ':';
    append_json_string(line, value);
  };
  append("time", time);
  append("level", level_name(level));
  append("message", message);
  for (const Logger::Field& field : fields) {
    if (!field.value.empty()) append(field.key, field.value);
  }
  return line + "}\n";
}

}  // namespace

Logger::Logger(std::FILE* stream, LogLevel level, WallClock wall_clock, LogFormat format)
    : stream_(stream), level_(level), wall_clock_(std::move(wall_clock)), format_(format) {}

void Logger::log(LogLevel level, std::string_view message, std::initializer_list<Field> fields) {
  if (level < level_) return;
  const std::string time = utc_timestamp(wall_clock_());
  const std::string line =
      format_ == LogFormat::kJson ? json_line(time, level, message, fields) : text_line(time, level, message, fields);
  const MutexLock lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), stream_);
  std::fflush(stream_);
}

}  // namespace sluice
