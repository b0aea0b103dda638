#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cpu/available_threads.h"
#include "engine/cpu/core_time.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/cpu_isa.h"
#include "engine/cpu/crowding.h"
#include "engine/cpu/thread_pool.h"

namespace sluice::engine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CpuIsa, RefusesANameItDoesNotKnowAndListsTheOthers) {
  const Result<CpuIsa> isa = choose_cpu_isa("sse9");
  ASSERT_FALSE(isa.ok());
  EXPECT_EQ(isa.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(isa.status().message(), HasSubstr("sse9"));
  EXPECT_THAT(isa.status().message(), HasSubstr("portable"));
}

TEST(CpuIsa, RefusesOneTheMachineLacks) {
  for (const CpuIsa isa : {CpuIsa::kPortable, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx}) {
    const std::vector<CpuIsa> available = available_cpu_isas();
    const bool has = std::find(available.begin(), available.end(), isa) != available.end();
    EXPECT_EQ(choose_cpu_isa(cpu_isa_name(isa)).ok(), has) << cpu_isa_name(isa);
  }
}

TEST(CpuIsa, AutoTakesTheBest) {
  EXPECT_EQ(choose_cpu_isa("auto").value(), available_cpu_isas().back());
}

TEST(CpuBackend, SaysWhatItRunsOn) {
  EXPECT_EQ(make_cpu_backend({.threads = 1, .isa = "portable"}).value()->description(), "cpu portable, 1 thread");
  EXPECT_FALSE(make_cpu_backend({.threads = 1, .isa = "z80"}).ok());
}

TEST(AvailableThreads, TakesNoticeOfACgroupQuota) {
  constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(cpus_in_cgroup_quota(""), kNoLimit);
  EXPECT_EQ(cpus_in_cgroup_quota("max 100000"), kNoLimit);
  EXPECT_EQ(cpus_in_cgroup_quota("-1 100000"), kNoLimit);
  EXPECT_EQ(cpus_in_cgroup_quota("100000 0"), kNoLimit);
  EXPECT_EQ(cpus_in_cgroup_quota("50000 100000"), 1);
  EXPECT_EQ(cpus_in_cgroup_quota("199999 100000"), 1);
  EXPECT_EQ(cpus_in_cgroup_quota("400000 100000"), 4);
  EXPECT_GE(available_threads(), 1);
}

TEST(ThreadPool, RunsEveryItemOnceInEveryRegion) {
  for (const int32_t threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::vector<int> visits(1000);
    for (int region = 0; region < 200; ++region) {
      pool.run([&](ThreadPool::Worker& worker) {
        worker.for_each(static_cast<int32_t>(visits.size()), 7, [&](int32_t i) { ++visits[static_cast<size_t>(i)]; });
      });
    }
    EXPECT_THAT(visits, Each(200)) << threads << " threads";
  }
}

TEST(ThreadPool, ShowsAfterABarrierWhatWasWrittenBefore) {
  ThreadPool pool(4);
  std::vector<int> first(64);
  std::vector<int> second(64);
  for (int region = 1; region <= 300; ++region) {
    pool.run([&](ThreadPool::Worker& worker) {
      worker.for_each(64, 1, [&](int32_t i) { first[static_cast<size_t>(i)] = region; });
      worker.barrier();
      worker.for_each(64, 1, [&](int32_t i) { second[static_cast<size_t>(i)] = first[static_cast<size_t>(63 - i)]; });
    });
    ASSERT_THAT(second, Each(region));
  }
}

TEST(ThreadPool, SharesItemsOutWithoutAGapTheCallerFirst) {
  ThreadPool pool(3);
  for (const int32_t count : {0, 1, 2, 7, 9}) {
    std::vector<ThreadPool::ItemRange> shares(3);
    pool.run([&](ThreadPool::Worker& worker) { shares[static_cast<size_t>(worker.index())] = worker.share_of(count); });
    EXPECT_EQ(shares[0].begin, 0);
    EXPECT_EQ(shares[0].end, (count + 2) / 3);
    EXPECT_EQ(shares[1].begin, shares[0].end);
    EXPECT_EQ(shares[2].begin, shares[1].end);
    EXPECT_EQ(shares[2].end, count);
  }
}

TEST(ThreadPool, TakesOverTheShareOfALateWorker) {
  ThreadPool pool(2);
  for (int region = 0; region < 50; ++region) {
    std::atomic<int> visits = 0;
    pool.run([&](ThreadPool::Worker& worker) {
      while (worker.index() == 1 && visits < 20) std::this_thread::yield();
      worker.for_each(20, 3, [&](int32_t) {
        EXPECT_EQ(worker.index(), 0);
        ++visits;
      });
    });
    ASSERT_EQ(visits, 20);
  }
}

TEST(ThreadPool, TakesALoopWithoutItems) {
  ThreadPool pool(3);
  std::atomic<int> workers = 0;
  pool.run([&](ThreadPool::Worker& worker) {
    worker.for_each(0, 4, [&](int32_t) { ADD_FAILURE(); });
    ++workers;
  });
  EXPECT_EQ(workers, 3);
}

/// Time, and how much of it threads are without a core. Moves when told to.
class Machine final : public Clock {
 public:
  TimePoint now() const override { return TimePoint() + core_time_.total(); }
  CoreTime core_time() const { return core_time_; }
  void pass(Duration time) { core_time_.had += time; }
  void pass_crowded(Duration time) {
    core_time_.had += time / 2;
    core_time_.lacked += time / 2;
  }

 private:
  CoreTime core_time_;
};

TEST(ThreadPool, LeavesThreadsOutWhileTheyLackACore) {
  Machine machine;
  ThreadPool pool(2, &machine, [&] { return machine.core_time(); });
  const auto count_workers = [&pool] {
    std::atomic<int> workers = 0;
    pool.run([&](ThreadPool::Worker& worker) {
      worker.barrier();
      ++workers;
      EXPECT_LT(worker.index(), worker.thread_count());
    });
    return workers.load();
  };
  EXPECT_EQ(count_workers(), 2);
  for (int window = 0; window < 4; ++window) {
    machine.pass_crowded(Crowding::kWindow);
    EXPECT_EQ(count_workers(), 2) << "in which they look";
  }
  EXPECT_EQ(count_workers(), 1);
  machine.pass(Crowding::kPatienceMin);
  EXPECT_EQ(count_workers(), 1);
  EXPECT_EQ(count_workers(), 2) << "tries the second again";
}

TEST(ThreadPool, KeepsAllThreadsWithoutAClock) {
  Machine machine;
  ThreadPool pool(2, nullptr, [&] { return machine.core_time(); });
  for (int region = 0; region < 20; ++region) {
    machine.pass_crowded(Crowding::kWindow);
    pool.run([&](ThreadPool::Worker& worker) { EXPECT_EQ(worker.thread_count(), 2); });
  }
}

TEST(ThreadPool, ComputesTheSameWhileThreadsComeAndGo) {
  Machine machine;
  ThreadPool pool(4, &machine, [&] { return machine.core_time(); });
  std::vector<int> first(64);
  std::vector<int> second(64);
  std::set<int32_t> seen_active;
  for (int region = 1; region <= 3000; ++region) {
    const bool is_crowded = region % 200 < 40;
    is_crowded ? machine.pass_crowded(Crowding::kWindow / 2) : machine.pass(Crowding::kWindow / 2);
    pool.run([&](ThreadPool::Worker& worker) {
      worker.for_each(64, 1, [&](int32_t i) { first[static_cast<size_t>(i)] = region; });
      worker.barrier();
      worker.for_each(64, 1, [&](int32_t i) { second[static_cast<size_t>(i)] = first[static_cast<size_t>(63 - i)]; });
    });
    ASSERT_THAT(second, Each(region));
    seen_active.insert(pool.counters().active);
  }
  EXPECT_THAT(seen_active, ElementsAre(1, 2, 4));
}

TEST(ThreadPool, CountsRegionsAndBarriers) {
  ThreadPool pool(3);
  for (int region = 0; region < 5; ++region) pool.run([](ThreadPool::Worker& worker) { worker.barrier(); });
  EXPECT_EQ(pool.counters().regions, 5);
  EXPECT_EQ(pool.counters().barriers, 10);
}

/// Time that moves when told to; counts who looks.
class WatchedClock final : public Clock {
 public:
  TimePoint now() const override {
    const TimePoint now = TimePoint() + Duration(passed_.load());
    ++looks_;  // behind the reading: whoever sees it may let time pass
    return now;
  }
  int looks() const { return looks_; }
  void pass(Duration time) { passed_ += time.count(); }

 private:
  mutable std::atomic<int> looks_ = 0;
  std::atomic<Duration::rep> passed_ = 0;
};

TEST(ThreadPool, CountsHowLongTheCallerWaits) {
  constexpr Duration kLate = std::chrono::milliseconds(7);
  WatchedClock clock;
  ThreadPool pool(2, &clock, [] { return CoreTime(); });
  pool.run([&](ThreadPool::Worker& worker) {
    if (worker.index() == 0) return;
    // The caller looks when the region begins, and when it begins to wait.
    while (clock.looks() < 2) std::this_thread::yield();
    clock.pass(kLate);
  });
  EXPECT_EQ(pool.counters().waited, kLate);
}

TEST(CoreTime, ReadsTheSchedulersAccount) {
  const CoreTime time = parse_core_time("3000 1000 25\n");
  EXPECT_EQ(time.had, Duration(3000));
  EXPECT_EQ(time.lacked, Duration(1000));
  EXPECT_EQ(time.lacked_share(), 0.25);
  EXPECT_EQ((CoreTime{Duration(-5), Duration(6)}).lacked_share(), 1.0) << "of two threads";
  for (const char* text : {"", "\n", "3000", "3000 ", "a b c", "3000 b"}) {
    EXPECT_EQ(parse_core_time(text).total(), Duration()) << text;
    EXPECT_EQ(parse_core_time(text).lacked_share(), 0.0) << text;
  }
}

TEST(CoreTime, NeverGoesBack) {
  const CoreTime before = own_core_time();
  const CoreTime after = own_core_time();
  EXPECT_GE(after.had, before.had);
  EXPECT_GE(after.lacked, before.lacked);
}

constexpr double kSharedCore = 0.5;  // missing while one thread shares its core with another process

/// Notes windows until `time` has passed, in which cores are missing to all threads beyond `cores`.
void pass(Crowding& crowding, Duration time, int32_t cores) {
  for (Duration passed{}; passed < time; passed += Crowding::kWindow) {
    crowding.note(Crowding::kWindow, std::max(crowding.active() - cores, 0));
  }
}

constexpr Duration kLong = 10 * Crowding::kPatienceMax;

TEST(Crowding, SendsAwayAThreadThatLacksACore) {
  Crowding sharing(2);
  int windows = 0;
  for (; sharing.active() == 2 && windows < 100; ++windows) sharing.note(Crowding::kWindow, kSharedCore);
  EXPECT_LE(windows, 15);
  Crowding displaced(2);
  for (int window = 0; window < 4; ++window) displaced.note(Crowding::kWindow, 1);
  EXPECT_EQ(displaced.active(), 1);
}

TEST(Crowding, BearsABurst) {
  Crowding crowding(2);
  for (int window = 0; window < 1000; ++window) {
    crowding.note(Crowding::kWindow, window % 5 == 0 ? 1.0 : 0.02);
    ASSERT_EQ(crowding.active(), 2);
  }
}

TEST(Crowding, BearsNeighboursThatTakeLittle) {
  Crowding crowding(16);
  for (int window = 0; window < 1000; ++window) crowding.note(Crowding::kWindow, 0.2);
  EXPECT_EQ(crowding.active(), 16);
}

TEST(Crowding, SendsAwayAsManyAsCoresAreMissing) {
  Crowding crowding(16);
  crowding.note(Crowding::kWindow, 5.7);
  EXPECT_EQ(crowding.active(), 11);
  int windows_right = 0;
  constexpr int kWindows = 500;
  for (int window = 0; window < kWindows; ++window) {
    pass(crowding, Crowding::kWindow, 9);
    windows_right += crowding.active() == 9 ? 1 : 0;
  }
  EXPECT_GT(windows_right, kWindows * 7 / 10);
}

TEST(Crowding, LeavesTheLastThreadAloneAndTriesNoOtherWhileThatLacksACore) {
  Crowding crowding(2);
  pass(crowding, 4 * Crowding::kWindow, 0);
  for (int window = 0; window < 1000; ++window) {
    EXPECT_EQ(crowding.active(), 1);
    crowding.note(Crowding::kWindow, kSharedCore);
  }
}

TEST(Crowding, BringsAllThreadsBackWhenTheyHaveTheirCoresAgain) {
  Crowding crowding(4);
  pass(crowding, kLong, 1);
  pass(crowding, Crowding::kPatienceMax + 3 * Crowding::kProof, 4);
  EXPECT_EQ(crowding.active(), 4);
}

TEST(Crowding, TriesLessAndLessOften) {
  Crowding crowding(2);
  int windows_with_two = 0;
  for (Duration passed{}; passed < kLong; passed += Crowding::kWindow) {
    windows_with_two += crowding.active() == 2 ? 1 : 0;
    crowding.note(Crowding::kWindow, crowding.active() == 2 ? 1.0 : 0.0);
  }
  EXPECT_GE(windows_with_two, 40);
  EXPECT_LE(windows_with_two, 80);
}

TEST(Crowding, TriesSoonAgainAfterATryThatProvedRight) {
  Crowding crowding(2);
  pass(crowding, kLong, 1);
  pass(crowding, Crowding::kPatienceMax + 2 * Crowding::kProof, 2);
  ASSERT_EQ(crowding.active(), 2);
  for (int window = 0; window < 4; ++window) crowding.note(Crowding::kWindow, 1);
  ASSERT_EQ(crowding.active(), 1);
  pass(crowding, Crowding::kPatienceMin, 2);
  EXPECT_EQ(crowding.active(), 2);
}

bool is_asleep(const std::filesystem::path& task) {
  std::string line;
  std::ifstream stat(task / "stat");
  std::getline(stat, line);
  const size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.substr(name_end + 2, 1) == "S";
}

int sleeping_threads() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    count += is_asleep(task.path()) ? 1 : 0;
  return count;
}

TEST(ThreadPool, SleepsBetweenRegions) {
  const int others = sleeping_threads();
  ThreadPool pool(4);
  pool.run([](ThreadPool::Worker& worker) { worker.barrier(); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  // One that has been seen asleep may be woken at the barrier yet, so only what one look sees counts.
  int asleep = 0;
  while ((asleep = sleeping_threads()) < others + 3 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(asleep, others + 3);
}

}  // namespace
}  // namespace sluice::engine
