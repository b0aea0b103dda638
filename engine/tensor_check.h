#pragma once

#include <cstdint>
#include <map>

#include "base/status.h"
#include "engine/tensor_source.h"

namespace sluice::engine {

/// What a model's tensors of one type come to.
struct TensorTypeTotal {
  int64_t tensors = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
};
std::map<TensorType, TensorTypeTotal> tensor_totals(const TensorSource& source);

/// Looks at every value of every tensor on so many threads. INVALID_ARGUMENT names the first tensor in the files'
/// order, and a row of it, with a value that isn't a finite number, such as a damaged scale makes.
Status check_tensor_values(const TensorSource& source, int32_t threads);

}  // namespace sluice::engine
