#include "server/memory_limit.h"

#include <fstream>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kMiB = int64_t{1} << 20;

/// A folder with the proc/ and sys/ files of a made-up machine with 1024 MiB available.
class Machine {
 public:
  Machine()
      : root_(testing::TempDir() + "sluice_memory_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
    write("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:          100 kB\nMemAvailable:    1048576 kB\n");
  }
  ~Machine() { fs::remove_all(root_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void group_v2(const std::string& path, const std::string& limit, int64_t usage_mib) const {
    write("sys/fs/cgroup" + path + "/memory.max", limit + "\n");
    write("sys/fs/cgroup" + path + "/memory.current", std::to_string(usage_mib * kMiB) + "\n");
  }
  int64_t available_mib() const { return available_memory_bytes(root_).value() / kMiB; }
  const fs::path& root() const { return root_; }

 private:
  const fs::path root_;
};

std::string mib(int64_t count) {
  return std::to_string(count * kMiB);
}

TEST(MemoryLimit, AMachineThatDoesNotTellIsAnErrorWithAWayOut) {
  const Machine machine;
  machine.write("proc/meminfo", "MemTotal: 1 kB\n");
  const Status status = available_memory_bytes(machine.root()).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("kv.memory"), std::string::npos);
  EXPECT_FALSE(available_memory_bytes(machine.root() / "nowhere").ok());
}

TEST(MemoryLimit, IsWhatTheMachineHasWithoutAGroup) {
  const Machine machine;
  EXPECT_EQ(machine.available_mib(), 1024);
  machine.write("proc/self/cgroup", "0::/system.slice/x\n");
  EXPECT_EQ(machine.available_mib(), 1024) << "the group's files are not there";
  machine.group_v2("/system.slice/x", "max", 10);
  EXPECT_EQ(machine.available_mib(), 1024);
}

TEST(MemoryLimit, IsWhatTheGroupHasLeft) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/box\n");
  machine.group_v2("/box", mib(512), 200);
  EXPECT_EQ(machine.available_mib(), 312);
  machine.group_v2("/box", mib(4096), 200);
  EXPECT_EQ(machine.available_mib(), 1024) << "a group can't have more than the machine";
}

TEST(MemoryLimit, CountsPageCacheAsLeft) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/box\n");
  machine.group_v2("/box", mib(512), 500);
  machine.write("sys/fs/cgroup/box/memory.stat", "anon 5\ninactive_file " + mib(300) + "\nactive_file 7\n");
  EXPECT_EQ(machine.available_mib(), 312);
}

TEST(MemoryLimit, IsNeverNegative) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/box\n");
  machine.group_v2("/box", mib(512), 600);
  EXPECT_EQ(machine.available_mib(), 0);
}

TEST(MemoryLimit, TheTightestGroupOnTheWayUpDecides) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/pod/box\n");
  machine.group_v2("/pod/box", mib(900), 100);
  machine.group_v2("/pod", mib(600), 200);
  machine.group_v2("", "max", 300);
  EXPECT_EQ(machine.available_mib(), 400);
}

TEST(MemoryLimit, InAContainerTheTopGroupIsTheOwnOne) {
  const Machine machine;
  machine.group_v2("", mib(256), 56);
  for (const char* const path : {"0::/\n", "0::/../..\n", "0::/docker/0123abcd\n"}) {
    machine.write("proc/self/cgroup", path);
    EXPECT_EQ(machine.available_mib(), 200) << path;
  }
}

TEST(MemoryLimit, ReadsVersionOneToo) {
  const Machine machine;
  machine.write("proc/self/cgroup", "12:cpu,cpuacct:/c\n7:memory:/docker/abc\n0::/\n");
  machine.write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", mib(512));
  machine.write("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", mib(100));
  machine.write("sys/fs/cgroup/memory/docker/abc/memory.stat",
                "inactive_file 1\ntotal_inactive_file " + mib(50) + "\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  machine.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  EXPECT_EQ(machine.available_mib(), 462);
}

TEST(MemoryLimit, ParsersTakeNothingForGranted) {
  EXPECT_EQ(parse_mem_available(""), std::nullopt);
  EXPECT_EQ(parse_mem_available("MemAvailable"), std::nullopt);
  EXPECT_EQ(parse_mem_available("MemAvailable: lots kB"), std::nullopt);
  EXPECT_EQ(parse_mem_available("MemAvailable: 9223372036854775807 kB"), std::nullopt);
  EXPECT_EQ(parse_mem_available("XMemAvailable: 1 kB\nMemAvailable:\t 2 kB"), 2048);
  EXPECT_EQ(parse_cgroup_bytes("max\n"), std::nullopt);
  EXPECT_EQ(parse_cgroup_bytes(""), std::nullopt);
  EXPECT_EQ(parse_cgroup_bytes("-1\n"), std::nullopt);
  EXPECT_EQ(parse_cgroup_bytes("4096\n"), 4096);
  EXPECT_EQ(parse_memory_stat("inactive_file_x 7\ninactive_file 9", "inactive_file"), 9);
  EXPECT_EQ(parse_memory_stat("", "inactive_file"), 0);
}

TEST(MemoryLimit, FindsTheGroupAmongTheLines) {
  EXPECT_FALSE(parse_self_cgroup("").has_value());
  EXPECT_FALSE(parse_self_cgroup("garbage\n::\n0::relative\n5:cpu:/x").has_value());
  EXPECT_EQ(parse_self_cgroup("0::/a:b\n")->path, "/a:b");
  EXPECT_EQ(parse_self_cgroup("0::/new\n3:memory,x:/old")->version, 1);
  EXPECT_EQ(parse_self_cgroup("1:name=systemd:/x\n0::/new")->version, 2);
}

TEST(MemoryLimit, OfThisMachineIsSomething) {
  EXPECT_GT(available_memory_bytes().value(), 0);
}

}  // namespace
}  // namespace sluice::server
