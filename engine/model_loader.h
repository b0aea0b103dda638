#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/model.h"
#include "engine/model_config.h"

namespace sluice::engine {

class Checkpoint;

/// A model whose weights are on a backend, still without a KV cache: how many blocks fit is decided once the weights
/// are in.
struct LoadedModel {
  ModelConfig config;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  int32_t tokens_max = 0;  ///< tokens of one step at most
};

/// Reads the checkpoint's configuration, picks the family and hands the weights over. The backend keeps no pointer into
/// the files. INVALID_ARGUMENT names a tensor that is missing, has another shape than the metadata say, or that the
/// family doesn't know: a weight left out would make a model that talks nonsense.
Result<LoadedModel> load_model(const Checkpoint& checkpoint, std::unique_ptr<Backend> backend, int32_t tokens_max);

}  // namespace sluice::engine
