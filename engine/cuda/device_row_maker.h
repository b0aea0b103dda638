#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/status.h"
#include "engine/cuda/device.h"
#include "engine/random_recipe.h"

namespace sluice::engine::cuda {

/// Makes random rows in a device's memory, the same bytes that their recipe gives on this machine.
class DeviceRowMaker {
 public:
  /// The device outlives it.
  explicit DeviceRowMaker(Device& device) : device_(device) {}

  /// Has the device write bytes [first_byte, first_byte + bytes) of all rows, one after the other, to `to`; both are
  /// whole elements or, of quantised types, any bytes. What the recipe lends outlives this.
  Status make(const RandomRecipe& recipe, int64_t first_byte, int64_t bytes, void* to);

 private:
  template <typename Bits>
  Status make_elements(const RandomRecipe& recipe, int64_t first_byte, int64_t bytes, void* to);

  Device& device_;
  std::map<const std::byte*, DeviceBuffer> elements_;  // by where the recipes have them
};

}  // namespace sluice::engine::cuda
