#pragma once

#include "base/status.h"
#include "engine/parallel_model.h"
#include "server/config.h"
#include "server/model_host.h"

namespace sluice::server {

/// Backends on the device that engine.device names, for engine.tensor_parallel ranks. With auto they are on the CPU
/// when no GPU can be used here, and the log tells why; a GPU that is named and can't be used is an error, never the
/// CPU. Its field is "engine.device".
Result<engine::RankBackends> choose_backends(const EngineSection& engine, const LoadEnvironment& environment);

}  // namespace sluice::server
