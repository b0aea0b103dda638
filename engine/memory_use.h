#pragma once

#include <cstdint>
#include <string>

namespace sluice::engine {

/// What of a device's memory something takes.
struct MemoryUse {
  std::string purpose;
  int64_t bytes = 0;
};

}  // namespace sluice::engine
