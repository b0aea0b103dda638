#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::server {

/// Bytes this process may still take without swapping or being killed: the least of what the machine has available and
/// what each control group above the process (version 1 or 2) has left under its limit. Page cache that the kernel
/// gives back on demand counts as left. `root` is the folder that holds proc/ and sys/. FAILED_PRECONDITION when
/// proc/meminfo can't be read.
Result<int64_t> available_memory_bytes(const std::filesystem::path& root = "/");

/// `MemAvailable` of /proc/meminfo, in bytes; nullopt when it isn't there.
std::optional<int64_t> parse_mem_available(std::string_view meminfo);

/// A control group of this process, from the lines of /proc/self/cgroup.
struct MemoryCgroup {
  int version = 2;
  std::string path;  ///< below the hierarchy's mount point, begins with '/'
};
/// The group that limits memory: version 1's memory controller where there is one, else version 2's group; nullopt when
/// there is neither.
std::optional<MemoryCgroup> parse_self_cgroup(std::string_view self_cgroup);

/// A limit or usage file: bytes, or nullopt for "max" and for anything that is no number.
std::optional<int64_t> parse_cgroup_bytes(std::string_view text);

/// One counter of a memory.stat file, e.g. "inactive_file"; 0 when it isn't there.
int64_t parse_memory_stat(std::string_view memory_stat, std::string_view counter);

}  // namespace sluice::server
