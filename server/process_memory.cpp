#include "server/process_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace sluice::server {
namespace {

/// The line "NAME:   123 kB" in bytes; 0 when it isn't there.
int64_t bytes_of(std::string_view status, std::string_view name) {
  const size_t found = status.find("\n" + std::string(name) + ":");
  if (found == std::string_view::npos) return 0;
  std::string_view rest = status.substr(found + name.size() + 2);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  int64_t kib = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), kib);
  return error == std::errc() && kib >= 0 && kib < (int64_t{1} << 50) ? kib * 1024 : 0;
}

}  // namespace

ProcessMemory parse_process_status(std::string_view status) {
  return {.resident_bytes = bytes_of(status, "VmRSS"), .peak_bytes = bytes_of(status, "VmHWM")};
}

ProcessMemory process_memory() {
  std::ifstream file("/proc/self/status");
  return parse_process_status(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace sluice::server
