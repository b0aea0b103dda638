#pragma once

#include <algorithm>

namespace sluice::engine {

/// What a device gives when nothing else is in the way, measured: what shares of use are taken of. 0: not known.
struct MachineLimits {
  double read_bytes_per_second = 0;   ///< all threads together, over as much memory as was asked for
  double vector_macs_per_second = 0;  ///< multiply-accumulates of bytes, in vectors
  double tile_macs_per_second = 0;    ///< of bfloat16, in matrix tiles; 0 without tiles

  double macs_per_second() const { return std::max(vector_macs_per_second, tile_macs_per_second); }
};

}  // namespace sluice::engine
