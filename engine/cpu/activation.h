#pragma once

#include <cstdint>

#include "engine/cpu/huge_buffer.h"

namespace sluice::engine::cpu {

/// A buffer [tokens_max, width] of floats.
struct Activation {
  HugeBuffer values;
  int32_t tokens_max = 0;
  int32_t width = 0;

  float* row(int32_t token) { return values.as<float>() + int64_t{token} * width; }
};

}  // namespace sluice::engine::cpu
