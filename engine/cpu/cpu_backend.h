#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "engine/backend.h"
#include "engine/communicator.h"
#include "engine/cpu/thread_counters.h"

namespace sluice::engine {

struct CpuOptions {
  int32_t threads = 0;       ///< compute threads, the caller's included; 0: the cores this process may use
  std::string isa = "auto";  ///< auto, portable, avx2, avx512 or amx
  /// Lent, outlives the backend. With it, threads stand back while other processes have their cores.
  const Clock* clock = nullptr;
  /// Lent, outlives the backend. With it, the backend is one rank's of a model that several share (engine/rank.h): what
  /// it adds to a residual is summed over all of them.
  Communicator* communicator = nullptr;
};

/// A backend that tells what its threads' hand-overs cost; for benchmarks.
class CountedBackend : public Backend {
 public:
  /// For the caller of its operations, between two of them.
  virtual ThreadCounters thread_counters() const = 0;
};

/// A backend on this machine's processors. FAILED_PRECONDITION when the named instruction set can't be had here,
/// INTERNAL when its kernels compute wrongly.
///
/// Weights are packed into panels of 16 rows (engine/cpu/packed_matrix.h). Products with quantised weights
/// quantise the activations to 8 bits in blocks of 32, or with amx take those of prompts as bfloat16; products with
/// float weights are float32. All sums are float32 in one order per output, instruction set and kind of token, whatever
/// the batch and the number of threads.
Result<std::unique_ptr<CountedBackend>> make_cpu_backend(const CpuOptions& options);

}  // namespace sluice::engine
