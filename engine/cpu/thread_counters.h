#pragma once

#include <cstdint>

#include "base/clock.h"

namespace sluice::engine {

/// What a pool's threads have done since it was made.
struct ThreadCounters {
  int64_t regions = 0;
  int64_t barriers = 0;  ///< the one that ends each region included
  int64_t sleeps = 0;    ///< of threads that waited at a barrier for longer than some microseconds
  int32_t active = 0;    ///< threads that take part in the next region
  Duration waited{};     ///< by the caller at barriers for the others; zero without a clock
};

}  // namespace sluice::engine
