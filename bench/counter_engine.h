#pragma once

#include <cstdint>

#include "base/counter_random.h"

namespace sluice::bench {

/// Random bits in the shape that the standard library's distributions take: one stream per seed and number, the same
/// wherever it is drawn.
class CounterEngine {
 public:
  using result_type = uint64_t;

  CounterEngine(uint64_t seed, uint64_t stream) : seed_(random_bits(seed, stream)) {}
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return UINT64_MAX; }
  uint64_t operator()() { return random_bits(seed_, counter_++); }

 private:
  uint64_t seed_;
  uint64_t counter_ = 0;
};

}  // namespace sluice::bench
