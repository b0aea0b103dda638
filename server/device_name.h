#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace sluice::server {

/// What engine.device names.
struct DeviceName {
  enum class Kind {
    kAuto,  ///< a GPU where there is one, else the CPU
    kCpu,
    kCuda,
  };

  Kind kind = Kind::kAuto;
  int32_t ordinal = 0;  ///< of the GPU, as CUDA numbers them
};

/// Of "auto", "cpu", "cuda", which is the first GPU, and "cuda:0" to "cuda:63". Whether the device exists is not asked.
/// The error's field is "engine.device".
Result<DeviceName> parse_device_name(std::string_view text);

}  // namespace sluice::server
