#pragma once

namespace sluice::engine::cuda {

/// RMS norm (Zhang and Sennrich 2019): x / sqrt(mean of x^2 + epsilon) * weight.
struct NormWeight {
  const float* weight = nullptr;  // [width]
  float epsilon = 0;
};

}  // namespace sluice::engine::cuda
