#include "server/memory_limit.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>

namespace sluice::server {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<int64_t> parse_leading_int64(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  return value;
}

/// Takes the first line off the text.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The number after "name" and a separator at a line's start.
std::optional<int64_t> value_of_line(std::string_view text, std::string_view name, char separator) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.size() > name.size() && line.substr(0, name.size()) == name && line[name.size()] == separator)
      return parse_leading_int64(line.substr(name.size() + 1));
  }
  return std::nullopt;
}

/// How one version of control groups names its files.
struct CgroupFiles {
  const char* mount;
  const char* limit;
  const char* usage;
  const char* reclaimable;  // in memory.stat
};
constexpr CgroupFiles kVersion1{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                "total_inactive_file"};
constexpr CgroupFiles kVersion2{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

/// What one group has left under its limit; nullopt without a limit.
std::optional<int64_t> left_in_group(const fs::path& group, const CgroupFiles& files) {
  const std::optional<std::string> limit_text = read_text(group / files.limit);
  const std::optional<std::string> usage_text = read_text(group / files.usage);
  if (!limit_text || !usage_text) return std::nullopt;
  const std::optional<int64_t> limit = parse_cgroup_bytes(*limit_text);
  const std::optional<int64_t> usage = parse_cgroup_bytes(*usage_text);
  if (!limit || !usage) return std::nullopt;
  const int64_t reclaimable = parse_memory_stat(read_text(group / "memory.stat").value_or(""), files.reclaimable);
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *usage - reclaimable));
}

}  // namespace

std::optional<int64_t> parse_mem_available(std::string_view meminfo) {
  const std::optional<int64_t> kib = value_of_line(meminfo, "MemAvailable", ':');
  if (!kib || *kib > INT64_MAX / 1024) return std::nullopt;
  return *kib * 1024;
}

std::optional<MemoryCgroup> parse_self_cgroup(std::string_view self_cgroup) {
  std::optional<MemoryCgroup> found;
  while (!self_cgroup.empty()) {
    // "hierarchy:controllers:path"; hierarchy 0 without controllers is version 2. A path may hold colons itself.
    const std::string_view line = take_line(self_cgroup);
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const std::string path(line.substr(second + 1));
    if (path.empty() || path.front() != '/') continue;
    if (controllers.find(",memory,") != std::string::npos) return MemoryCgroup{1, path};
    if (line.substr(0, first) == "0" && controllers == ",,") found = MemoryCgroup{2, path};
  }
  return found;
}

std::optional<int64_t> parse_cgroup_bytes(std::string_view text) {
  return parse_leading_int64(text);
}

int64_t parse_memory_stat(std::string_view memory_stat, std::string_view counter) {
  return value_of_line(memory_stat, counter, ' ').value_or(0);
}

Result<int64_t> available_memory_bytes(const fs::path& root) {
  const std::optional<int64_t> machine = parse_mem_available(read_text(root / "proc/meminfo").value_or(""));
  if (!machine) return failed_precondition("can't read MemAvailable from /proc/meminfo; give kv.memory in bytes");
  const std::optional<MemoryCgroup> group = parse_self_cgroup(read_text(root / "proc/self/cgroup").value_or(""));
  if (!group) return *machine;
  const CgroupFiles& files = group->version == 1 ? kVersion1 : kVersion2;
  // A limit may stand on any group above. In a container the path can be the host's, of which only the top exists here:
  // missing folders are passed.
  int64_t available = *machine;
  fs::path path = fs::path(group->path).lexically_normal().relative_path();
  while (true) {
    available = std::min(available, left_in_group(root / files.mount / path, files).value_or(available));
    if (path.empty()) return available;
    path = path.parent_path();
  }
}

}  // namespace sluice::server
