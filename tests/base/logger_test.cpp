#include "base/logger.h"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::string logged(LogLevel level, const std::function<void(Logger&)>& use, LogFormat format = LogFormat::kText) {
  std::FILE* file = std::tmpfile();
  {
    Logger logger(
        file, level, [] { return std::chrono::system_clock::time_point(std::chrono::milliseconds(1500)); }, format);
    use(logger);
  }
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

TEST(Logger, WritesOneLineWithUtcTimeAndFields) {
  EXPECT_EQ(logged(LogLevel::kInfo,
                   [](Logger& log) {
                     log.info("ready", {{"port", "80"}, {"model", "a b"}});
                   }),
            "1970-01-01T00:00:01.500Z INFO ready port=80 model=\"a b\"\n");
}

TEST(Logger, KeepsAnEventOnOneLine) {
  EXPECT_EQ(logged(LogLevel::kInfo,
                   [](Logger& log) {
                     log.error("bad", {{"text", "a\nb\"c"}});
                   }),
            "1970-01-01T00:00:01.500Z ERROR bad text=\"a b\\\"c\"\n");
}

TEST(Logger, LeavesOutWhatIsEmpty) {
  const auto use = [](Logger& log) { log.info("ended", {{"tenant", ""}, {"tokens", "3"}}); };
  EXPECT_EQ(logged(LogLevel::kInfo, use), "1970-01-01T00:00:01.500Z INFO ended tokens=3\n");
  EXPECT_EQ(logged(LogLevel::kInfo, use, LogFormat::kJson),
            R"({"time":"1970-01-01T00:00:01.500Z","level":"INFO","message":"ended","tokens":"3"})"
            "\n");
}

TEST(Logger, WritesJsonThatHoldsAnyText) {
  const auto use = [](Logger& log) { log.error("a\"b", {{"k", "x\n\t\\\x01 \xc3\xa4"}}); };
  EXPECT_EQ(logged(LogLevel::kInfo, use, LogFormat::kJson),
            R"({"time":"1970-01-01T00:00:01.500Z","level":"ERROR","message":"a\"b","k":"x\u000a\u0009\\\u0001 ä"})"
            "\n");
}

TEST(Logger, DropsWhatIsBelowItsLevel) {
  EXPECT_EQ(logged(LogLevel::kWarning, [](Logger& log) { log.info("quiet"); }), "");
}

}  // namespace
}  // namespace sluice
