#pragma once

#include "bench/micro/operation_rig.h"

namespace sluice::bench {

/// Single operations at the default model's shapes, with what they reach and its share of the machine's limits.
/// `setting` outlives the run.
void register_operation_benchmarks(const OperationSetting& setting);

}  // namespace sluice::bench
