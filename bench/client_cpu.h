#pragma once

#include <functional>

#include "base/clock.h"

namespace sluice::bench {

/// What this process takes of its processors.
struct ClientCpu {
  std::function<Duration()> used;  ///< so far, by all threads; empty: unknown
  int cores = 1;                   ///< that it may run on

  Duration used_now() const { return used ? used() : Duration::zero(); }
};

}  // namespace sluice::bench
