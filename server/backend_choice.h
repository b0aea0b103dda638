#pragma once

#include "base/status.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/model_config.h"
#include "engine/rank_backends.h"
#include "server/config.h"
#include "server/model_host.h"

namespace sluice::server {

/// Backends on the device that engine.device names, for engine.tensor_parallel ranks: as many GPUs from that one on, or
/// all on the CPU. With auto they are on the CPU when the GPUs can't be used here, and the log tells why; a GPU that is
/// named and can't be used is an error, never the CPU. Its field is "engine.device". What the device can't serve of the
/// model or the configured cache is told here, before weights are read.
Result<engine::RankBackends> choose_backends(const Config& config, const engine::ModelConfig& model,
                                             const LoadEnvironment& environment);

/// What the section, a valid one, says of a backend on a GPU. With cuda_batch_invariant no number of rows takes a path
/// of its own, so every product with a matrix in blocks first makes numbers of it.
engine::CudaOptions cuda_options(const EngineSection& section);

}  // namespace sluice::server
