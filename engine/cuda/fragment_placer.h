#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "engine/cuda/device.h"
#include "engine/cuda/weight_pieces.h"

namespace sluice::engine::cuda {

/// Puts fragments where they belong on a device whose matrices are of one element type, or keep their bytes: at once
/// where the files have them so, else by way of memory for their stored form and a conversion.
class FragmentPlacer {
 public:
  /// The device outlives it.
  FragmentPlacer(Device& device, Element element) : device_(device), element_(element) {}

  /// Makes the memory that these fragments and those of earlier calls take; called before any room is asked for.
  Status prepare(std::span<const WeightPiece> pieces);
  /// Where the device is to have the fragment's bytes. Whoever has asked it to put them there calls place() before the
  /// next room is asked for.
  std::byte* room(const WeightFragment& fragment) const;
  /// Asks the device for what is left to do.
  Status place(const WeightFragment& fragment);

 private:
  bool is_at_once(const WeightCopy& copy) const;
  std::byte* destination(const WeightFragment& fragment) const;

  Device& device_;
  const Element element_;
  // One is enough: the device does one thing after the other, and converts a fragment in a hundredth of the time that
  // it takes to copy it.
  DeviceBuffer stored_;
};

}  // namespace sluice::engine::cuda
