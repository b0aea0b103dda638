#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "engine/cuda/device.h"

namespace sluice::engine::cuda {

/// A device of this machine's memory: kernels run in the SIMT simulation and products in plain loops, with the results
/// there before a call returns. Slow, and exact about what a GPU would let pass: it is for tests.
class HostDevice final : public Device {
 public:
  /// `bytes` is what it has in all. `stream` is handed to the simulation (simt::Stream), may be null.
  explicit HostDevice(int64_t bytes, void* stream = nullptr) : total_(bytes), stream_(stream) {}
  ~HostDevice() override;
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  std::string description() const override { return "simulated GPU"; }
  DeviceMemory memory() const override { return {total_, total_ - used_}; }
  Result<void*> allocate(int64_t bytes, const std::string& purpose) override;
  void release(void* memory) override;
  Status copy_in(void* device_to, const void* from, int64_t bytes) override;
  Status copy_out(void* to, const void* device_from, int64_t bytes) override;
  Status multiply(const Product& product) override;
  Status synchronize() override { return {}; }
  void* stream() override { return stream_; }

 private:
  void check_inside(const void* memory, int64_t bytes) const;

  const int64_t total_;
  int64_t used_ = 0;
  void* const stream_;
  std::map<const std::byte*, int64_t> sizes_;  // of what is allocated
};

}  // namespace sluice::engine::cuda
