#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"

namespace sluice::engine::cuda {

/// How numbers lie in device memory.
enum class Element {
  kF32,
  kBf16,
  kFp8,  ///< e4m3, each row with a float that its elements are multiplied with
};

constexpr int64_t element_bytes(Element element) {
  switch (element) {
    case Element::kF32:
      return 4;
    case Element::kBf16:
      return 2;
    case Element::kFp8:
      return 1;
  }
  return 0;
}

/// What outputs, inputs and the address of every row of a product in kFp8 are multiples of.
constexpr int32_t kFp8Multiple = 16;

struct DeviceMemory {
  int64_t total = 0;  ///< bytes
  int64_t free = 0;   ///< bytes that allocate() can still give, in whatever pieces
};

/// out [rows, outputs] (+)= in [rows, inputs] * matrix [outputs, inputs] transposed (+ bias), summed in float. All of
/// it in device memory, rows one after the other, but that those of `out` may be parts of longer ones; `in` and
/// `matrix` are of one element type. In kFp8 a sum is multiplied with both of its rows' scales before anything is
/// added.
struct Product {
  int32_t rows = 0;
  int32_t outputs = 0;
  int32_t inputs = 0;
  Element element = Element::kBf16;
  const void* in = nullptr;
  const void* matrix = nullptr;
  const float* in_scales = nullptr;      // [rows] of kFp8, else none; a multiple of 16
  const float* matrix_scales = nullptr;  // [outputs] of kFp8, else none; a multiple of 16
  const float* bias = nullptr;           // [outputs], or none; none in kFp8
  float* out = nullptr;
  int32_t out_stride = 0;  ///< floats from one row of `out` to the next; 0: `outputs`
  bool adds = false;       ///< to what is in `out`; then there is no bias

  int32_t floats_between_rows() const { return out_stride == 0 ? outputs : out_stride; }
};

/// A point in what a device does, which this machine can wait for. The device that made it outlives it.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
};

/// Work of a device that was recorded once, to be run as often as one likes. The device that made it, and all memory
/// that the work names, outlive it.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
};

/// Memory that computes: a GPU, or for tests this machine's own memory with kernels in simulation. Copies, kernels
/// launched on stream(), products and sums are done in the order they are asked for, some time after the call; what is
/// said of each tells when its memory may be touched. One caller thread.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string description() const = 0;
  virtual DeviceMemory memory() const = 0;
  /// What is still to be left for code that is loaded when it first runs.
  virtual int64_t code_bytes_max() const { return 0; }
  /// At least 256-byte aligned, zeroed. RESOURCE_EXHAUSTED names `purpose`, what is asked for and what is free.
  virtual Result<void*> allocate(int64_t bytes, const std::string& purpose) = 0;
  virtual void release(void* memory) = 0;
  /// Memory of this machine that the device reads and writes by itself (pinned), zeroed. Errors as allocate()'s.
  virtual Result<void*> allocate_host(int64_t bytes, const std::string& purpose) = 0;
  virtual void release_host(void* memory) = 0;

  /// `from` may be reused when the call returns.
  virtual Status copy_in(void* device_to, const void* from, int64_t bytes) = 0;
  /// Waits until the bytes are there.
  virtual Status copy_out(void* to, const void* device_from, int64_t bytes) = 0;
  /// Between memory of allocate_host() and the device's, without waiting: the host's bytes are left alone until an
  /// event that is recorded after this is reached.
  virtual Status enqueue_copy_in(void* device_to, const void* host_from, int64_t bytes) = 0;
  virtual Status enqueue_copy_out(void* host_to, const void* device_from, int64_t bytes) = 0;
  /// Within device memory.
  virtual Status enqueue_copy(void* device_to, const void* device_from, int64_t bytes) = 0;
  virtual Status multiply(const Product& product) = 0;
  /// Such a product, of addresses as these, will be asked for while recording, when there is no time to look for the
  /// best way to compute it. It isn't computed now.
  virtual void prepare(const Product& /*product*/) {}
  /// FAILED_PRECONDITION for elements that it has no products of. A GPU of compute capability 9.0 has those of kFp8
  /// with a scale for each row (cuBLASLt's OUTER_VEC_32F); others scale a whole matrix or blocks of it, or multiply no
  /// fp8. A device asks its library for an algorithm before it says yes.
  virtual Status check_products(Element element) const {
    if (element != Element::kFp8) return {};
    return failed_precondition(description() +
                               " has no products of fp8 with a scale for each row; "
                               "use engine.cuda_weights bf16 or stored");
  }

  /// Devices that share a model (engine/rank.h), this one among them.
  virtual int32_t rank_count() const { return 1; }
  /// Makes each value in device memory its sum over these devices, all of which ask for as many in the same order. All
  /// get the same bits. The order in which more than two are added up may depend on the count and on a value's place.
  virtual Status all_reduce(float* /*values*/, int64_t /*count*/) { return {}; }

  virtual Result<std::unique_ptr<DeviceEvent>> make_event() = 0;
  /// The event is reached when all that was asked for before is done. Recorded again, it stands for the later point.
  virtual Status record(DeviceEvent& event) = 0;
  /// Until the event is reached; at once when it was never recorded. A failure of what was asked for may show here.
  virtual Status wait(DeviceEvent& event) = 0;
  /// Until all that was asked for is done.
  virtual Status synchronize() = 0;

  /// Between these two calls kernels, products, sums and enqueued copies are kept instead of done; nothing else may be
  /// asked for. Addresses, sizes and grids are those of the recording, bytes those found when it is run.
  virtual Status begin_recording() = 0;
  virtual Result<std::unique_ptr<DeviceGraph>> end_recording() = 0;
  virtual Status run(DeviceGraph& graph) = 0;

  /// Names what is asked for until end_range(), for whoever profiles; between the two no other begins. The name is made
  /// only if somebody does.
  virtual void begin_range(const std::function<std::string()>& /*name*/) {}
  virtual void end_range() {}

  /// For gpu::Launch.
  virtual void* stream() = 0;
};

/// Memory of a device, or of this machine for one, given back when this dies. The device outlives it.
template <Result<void*> (Device::*kAllocate)(int64_t, const std::string&), void (Device::*kRelease)(void*)>
class OwnedMemory {
 public:
  OwnedMemory() = default;
  static Result<OwnedMemory> allocate(Device& device, int64_t bytes, const std::string& purpose) {
    SLUICE_ASSIGN_OR_RETURN(void* memory, (device.*kAllocate)(bytes, purpose));
    return OwnedMemory(device, memory, bytes);
  }
  OwnedMemory(OwnedMemory&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  OwnedMemory& operator=(OwnedMemory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~OwnedMemory() {
    if (memory_ != nullptr) (device_->*kRelease)(memory_);
  }

  int64_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  OwnedMemory(Device& device, void* memory, int64_t bytes) : device_(&device), memory_(memory), bytes_(bytes) {}

  Device* device_ = nullptr;
  void* memory_ = nullptr;
  int64_t bytes_ = 0;
};

using DeviceBuffer = OwnedMemory<&Device::allocate, &Device::release>;
/// Pinned.
using HostBuffer = OwnedMemory<&Device::allocate_host, &Device::release_host>;

}  // namespace sluice::engine::cuda
