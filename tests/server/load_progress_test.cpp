#include "server/load_progress.h"

#include <algorithm>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/process_memory.h"
#include "tests/server/kept_file.h"
#include "tests/server/kept_log.h"

namespace sluice::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kTotal = 4'000'000'000;

/// What is told of a model's loading on a terminal and in the log.
struct Told {
  std::string terminal;
  std::string log;
};

Told told(bool has_terminal, int64_t bytes, const std::function<void(LoadProgress&, ManualClock&)>& load) {
  const KeptFile terminal;
  KeptLog log;
  {
    ManualClock clock;
    LoadProgress progress({clock, log.logger(), has_terminal ? terminal.get() : nullptr, bytes});
    load(progress, clock);
  }
  return {terminal.text(), log.text()};
}

TEST(LoadProgress, WritesOneLineOverAndOverOnATerminal) {
  const Told texts = told(true, kTotal, [](LoadProgress& progress, ManualClock& clock) {
    clock.advance(std::chrono::seconds(1));
    progress.advance(kTotal / 4);
    clock.advance(std::chrono::seconds(1));
    progress.advance(kTotal / 2);
    progress.finish();
  });
  EXPECT_EQ(texts.terminal,
            "\r\033[Kloading 25 %, 1.0 of 4.0 GB, 1.00 GB/s\r\033[Kloading 50 %, 2.0 of 4.0 GB, 1.00 GB/s\r\033[K");
  EXPECT_THAT(texts.log, IsEmpty());
}

TEST(LoadProgress, TellsTheLogEveryFewSecondsWithoutATerminal) {
  const Told texts = told(false, kTotal, [](LoadProgress& progress, ManualClock& clock) {
    for (int64_t piece = 1; piece <= 9; ++piece) {
      clock.advance(std::chrono::seconds(1));
      progress.advance(piece * kTotal / 10);
    }
    progress.finish();
  });
  EXPECT_THAT(texts.terminal, IsEmpty());
  EXPECT_THAT(texts.log, HasSubstr("loading the model percent=50 gb_per_second=0.40\n"));
  EXPECT_EQ(std::count(texts.log.begin(), texts.log.end(), '\n'), 1);
}

TEST(LoadProgress, TellsNothingOfASmallModel) {
  for (const bool has_terminal : {false, true}) {
    const Told texts = told(has_terminal, LoadProgress::kBytesMin - 1, [](LoadProgress& progress, ManualClock& clock) {
      clock.advance(std::chrono::seconds(60));
      progress.advance(1);
      progress.finish();
    });
    EXPECT_THAT(texts.terminal + texts.log, IsEmpty());
  }
}

TEST(LoadProgress, TellsNothingTwiceWithinItsPeriod) {
  const Told texts = told(true, kTotal, [](LoadProgress& progress, ManualClock& clock) {
    clock.advance(LoadProgress::kTerminalPeriod - Duration(1));
    progress.advance(1);
    progress.finish();
  });
  EXPECT_THAT(texts.terminal, IsEmpty());
}

TEST(GigabytesPerSecond, IsZeroWhenNoTimeHasPassed) {
  EXPECT_EQ(gigabytes_per_second(1'250'000'000, 1), "1.25");
  EXPECT_EQ(gigabytes_per_second(1'250'000'000, 0), "0.00");
}

TEST(ProcessMemory, ReadsTheKernelsText) {
  const ProcessMemory memory = parse_process_status("Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nThreads:\t1\n");
  EXPECT_EQ(memory.peak_bytes, 2048 * 1024);
  EXPECT_EQ(memory.resident_bytes, 1024 * 1024);
}

TEST(ProcessMemory, IsZeroWhereTheTextLacksIt) {
  for (const char* text : {"", "Name:\tx\n", "\nVmRSS:", "\nVmRSS:\tmany kB\n", "\nVmRSS:\t-5 kB\n"}) {
    EXPECT_EQ(parse_process_status(text).resident_bytes, 0) << text;
  }
}

TEST(ProcessMemory, OfThisProcessIsThere) {
  const ProcessMemory memory = process_memory();
  EXPECT_GT(memory.resident_bytes, 0);
  EXPECT_GE(memory.peak_bytes, memory.resident_bytes);
}

}  // namespace
}  // namespace sluice::server
