#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"

namespace sluice::engine::cuda {

/// How numbers lie in device memory.
enum class Element { kF32, kBf16 };

constexpr int64_t element_bytes(Element element) {
  return element == Element::kF32 ? 4 : 2;
}

struct DeviceMemory {
  int64_t total = 0;  ///< bytes
  int64_t free = 0;   ///< bytes that allocate() can still give, in whatever pieces
};

/// out [rows, outputs] (+)= in [rows, inputs] * matrix [outputs, inputs] transposed (+ bias), summed in float. All of
/// it in device memory, rows one after the other; `in` and `matrix` are of one element type.
struct Product {
  int32_t rows = 0;
  int32_t outputs = 0;
  int32_t inputs = 0;
  Element element = Element::kBf16;
  const void* in = nullptr;
  const void* matrix = nullptr;
  const float* bias = nullptr;  // [outputs], or none
  float* out = nullptr;
  bool adds = false;  ///< to what is in `out`; then there is no bias
};

/// Memory that computes: a GPU, or for tests this machine's own memory with kernels in simulation. Copies, kernels
/// launched on stream() and products are done in the order they are asked for; synchronize() waits for all of them. One
/// caller thread.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string description() const = 0;
  virtual DeviceMemory memory() const = 0;
  /// At least 256-byte aligned, zeroed. RESOURCE_EXHAUSTED names `purpose`, what is asked for and what is free.
  virtual Result<void*> allocate(int64_t bytes, const std::string& purpose) = 0;
  virtual void release(void* memory) = 0;

  /// `from` may be reused when the call returns.
  virtual Status copy_in(void* device_to, const void* from, int64_t bytes) = 0;
  /// Waits until the bytes are there.
  virtual Status copy_out(void* to, const void* device_from, int64_t bytes) = 0;
  virtual Status multiply(const Product& product) = 0;
  virtual Status synchronize() = 0;

  /// For gpu::Launch.
  virtual void* stream() = 0;
};

/// Memory of a device, given back when this dies. The device outlives it.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  static Result<DeviceBuffer> allocate(Device& device, int64_t bytes, const std::string& purpose) {
    SLUICE_ASSIGN_OR_RETURN(void* memory, device.allocate(bytes, purpose));
    return DeviceBuffer(device, memory, bytes);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceBuffer() {
    if (memory_ != nullptr) device_->release(memory_);
  }

  int64_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  DeviceBuffer(Device& device, void* memory, int64_t bytes) : device_(&device), memory_(memory), bytes_(bytes) {}

  Device* device_ = nullptr;
  void* memory_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace sluice::engine::cuda
