#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "engine/cuda/device.h"
#include "engine/machine_limits.h"

namespace sluice::engine::cuda {

/// How much is done to find a device's limits: enough to take a millisecond on a GPU.
struct LimitTrial {
  int64_t copied_bytes = int64_t{512} << 20;
  int32_t product_side = 8192;  ///< of two square matrices
  int32_t rounds = 5;           ///< of which the fastest counts
};

/// What the device's memory and products of bf16 give. A copy reads and writes, so its bytes count twice. Takes the
/// memory of one trial while it runs; RESOURCE_EXHAUSTED when that isn't free.
Result<MachineLimits> measure_device_limits(Device& device, const Clock& clock, const LimitTrial& trial = {});

}  // namespace sluice::engine::cuda
