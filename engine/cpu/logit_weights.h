#pragma once

#include <cstdint>

#include "engine/cpu/elementwise_kernels.h"
#include "engine/logit_kernels.h"

namespace sluice::engine::cpu {

/// e^x where x >= -87, else 0, also for NaN.
template <typename V>
typename V::Float logit_weight(typename V::Float logit, typename V::Float max, typename V::Float inverse) {
  const auto x = V::mul(V::sub(logit, max), inverse);
  return V::zero_unless_at_least(exponential<V>(x), x, V::set(-87.0F));
}

/// See LogitKernels.
template <typename V>
double weigh_logits(const float* logits, int32_t count, LogitScale scale, float* weights) {
  const auto max = V::set(scale.max);
  const auto inverse = V::set(1.0F / scale.temperature);
  const int32_t whole = count - count % V::kLanes;
  auto sum = V::set(0);
  for (int32_t i = 0; i < whole; i += V::kLanes) {
    const auto weight = logit_weight<V>(V::load(logits + i), max, inverse);
    V::store(weights + i, weight);
    sum = V::add(sum, weight);
  }
  if (whole < count) {
    float tail[V::kLanes];
    for (int32_t i = 0; i < V::kLanes; ++i) tail[i] = whole + i < count ? logits[whole + i] : -__builtin_inff();
    const auto weight = logit_weight<V>(V::load(tail), max, inverse);
    V::store(tail, weight);
    for (int32_t i = whole; i < count; ++i) weights[i] = tail[i - whole];
    sum = V::add(sum, weight);
  }
  return static_cast<double>(V::sum_of(sum));
}

/// The largest of each column's products with a panel's 16 rows, NaNs passed over.
template <typename V>
void panel_tops(const float* products, int32_t count, float* tops) {
  for (int32_t c = 0; c < count; ++c, products += kPanelRows) {
    auto top = V::set(-__builtin_inff());
    for (int32_t row = 0; row < kPanelRows; row += V::kLanes) top = V::max(V::load(products + row), top);
    tops[c] = V::max_of(top);
  }
}

}  // namespace sluice::engine::cpu
