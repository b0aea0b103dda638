#include "engine/cpu/available_threads.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include <sched.h>

namespace sluice::engine {
namespace {

constexpr int32_t kNoLimit = std::numeric_limits<int32_t>::max();

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int32_t cpus_in_affinity_mask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return kNoLimit;
  return CPU_COUNT(&set);
}

// The process's own cgroup as /proc names it ("0::/path"); inside a container that is "/", where its limits are
// mounted.
int32_t cpus_in_own_cgroup() {
  const std::string line = first_line("/proc/self/cgroup");
  const std::string group = line.starts_with("0::") ? line.substr(3) : "";
  const int32_t v2 = cpus_in_cgroup_quota(first_line("/sys/fs/cgroup" + group + "/cpu.max"));
  const std::string quota = first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const std::string period = first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  return std::min(v2, cpus_in_cgroup_quota(quota + " " + period));
}

}  // namespace

int32_t cpus_in_cgroup_quota(std::string_view cpu_max) {
  std::istringstream text{std::string(cpu_max)};
  int64_t quota = 0;
  int64_t period = 0;
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return kNoLimit;
  return static_cast<int32_t>(std::clamp<int64_t>(quota / period, 1, kNoLimit));
}

int32_t available_threads() {
  const int32_t cpus = std::min(cpus_in_affinity_mask(), cpus_in_own_cgroup());
  return cpus == kNoLimit ? 1 : std::max(cpus, 1);
}

}  // namespace sluice::engine
