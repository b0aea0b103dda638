#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::server {

/// What this process has in memory, mapped files included.
struct ProcessMemory {
  int64_t resident_bytes = 0;
  int64_t peak_bytes = 0;  ///< since it began
};

/// Zeros where the operating system doesn't tell.
ProcessMemory process_memory();

/// VmRSS and VmHWM of the text of /proc/self/status.
ProcessMemory parse_process_status(std::string_view status);

}  // namespace sluice::server
