#pragma once

#include <cstdint>

#include "base/clock.h"

namespace sluice::bench {

/// What the machine gives when nothing else is in the way, measured; what a benchmark's share is taken of.
struct MachineLimits {
  double read_bytes_per_second = 0;  ///< over as much memory as the weights of the default model
  double macs_per_second = 0;        ///< of bytes, in vectors: with matrix tiles a product may do more
};

/// With `threads` threads at once, for the instruction set of that name ("portable" has no known peak: 0). Takes about
/// a second.
MachineLimits measure_limits(const char* isa, int32_t threads, const Clock& clock);

}  // namespace sluice::bench
