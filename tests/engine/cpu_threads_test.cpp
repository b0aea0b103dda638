#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cpu/available_threads.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/cpu_isa.h"
#include "engine/cpu/thread_pool.h"

namespace sluice::engine {
namespace {

using ::testing::Each;
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

TEST(ThreadPool, TakesALoopWithoutItems) {
  ThreadPool pool(3);
  std::atomic<int> workers = 0;
  pool.run([&](ThreadPool::Worker& worker) {
    worker.for_each(0, 4, [&](int32_t) { ADD_FAILURE(); });
    ++workers;
  });
  EXPECT_EQ(workers, 3);
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
  while (sleeping_threads() < others + 3 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(sleeping_threads(), others + 3);
}

}  // namespace
}  // namespace sluice::engine
