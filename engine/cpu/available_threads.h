#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::engine {

/// Threads this process may run at once: the processors of its affinity mask, but no more than its cgroup's CPU quota.
/// At least 1.
int32_t available_threads();

/// Whole processors in a cgroup v2 `cpu.max` text ("150000 100000" is 1, "max 100000" and anything unreadable is no
/// limit: INT32_MAX).
int32_t cpus_in_cgroup_quota(std::string_view cpu_max);

}  // namespace sluice::engine
