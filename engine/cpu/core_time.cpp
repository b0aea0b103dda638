#include "engine/cpu/core_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include <fcntl.h>
#include <unistd.h>

namespace sluice::engine {

CoreTime parse_core_time(std::string_view schedstat) {
  const char* const end = schedstat.data() + schedstat.size();
  int64_t had_ns = 0;
  int64_t lacked_ns = 0;
  const auto had = std::from_chars(schedstat.data(), end, had_ns);
  if (had.ec != std::errc() || had.ptr == end || *had.ptr != ' ') return {};
  if (std::from_chars(had.ptr + 1, end, lacked_ns).ec != std::errc()) return {};
  return CoreTime{Duration(had_ns), Duration(lacked_ns)};
}

CoreTime own_core_time() {
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 80> text{};
  const ssize_t size = read(file, text.data(), text.size());
  close(file);
  return parse_core_time({text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))});
}

}  // namespace sluice::engine
