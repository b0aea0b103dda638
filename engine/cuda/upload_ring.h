#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "engine/cuda/device.h"

namespace sluice::engine::cuda {

/// Pinned memory for what goes to a device again and again, so that the next turn's can be written while the device
/// still reads the last one's.
class UploadRing {
 public:
  /// The device outlives it. `bytes` is what one turn has room for.
  static Result<UploadRing> create(Device& device, int64_t bytes, const std::string& purpose);

  /// Begins a turn: memory to write to. Waits until the device has read what was there two turns ago.
  Result<std::byte*> begin();
  /// Sends bytes [offset, offset + bytes) of the turn's memory; not touched after this.
  Status send(void* device_to, int64_t offset, int64_t bytes);
  /// Ends the turn.
  Status end();

  int64_t bytes() const { return turns_.front().memory.bytes(); }

 private:
  struct Turn {
    HostBuffer memory;
    std::unique_ptr<DeviceEvent> is_read;
  };

  explicit UploadRing(Device& device) : device_(&device) {}

  Device* device_;
  std::array<Turn, 2> turns_;
  size_t now_ = 0;
};

}  // namespace sluice::engine::cuda
