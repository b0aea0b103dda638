#pragma once

#include "bench/micro/step_rig.h"

namespace sluice::bench {

struct StepShape {
  const char* name;
  int32_t rows;
  int32_t slice;    ///< tokens of each row in the step
  int32_t context;  ///< tokens of each row in the cache after the step
};

/// Whole steps of the model, broken down by operation, with what their barriers cost. `rig` outlives the run.
void register_step_benchmarks(StepRig& rig);

}  // namespace sluice::bench
