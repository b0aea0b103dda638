#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/batch.h"
#include "engine/step_costs.h"

namespace sluice::engine {

class Backend;

/// One family's forward pass. Holds handles only; weights and buffers live in the backend it was loaded into.
class Model {
 public:
  virtual ~Model() = default;

  /// Of its weights on that backend; without what the cache's layout decides, context_token_bytes.
  virtual StepCosts costs(const Backend& backend) const = 0;

  /// Has the backend that the model was loaded into compute the batch and draw its samples, for Backend::collect().
  virtual Status forward(Backend& backend, const Batch& batch) const = 0;
  /// Shows the backend a step as often as it wants to see one now.
  virtual Status rehearse(Backend& backend) const = 0;
};

}  // namespace sluice::engine
