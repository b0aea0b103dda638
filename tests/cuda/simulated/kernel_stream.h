#pragma once

#include <vector>

#include "engine/cuda/simt/simt_order.h"

/// Where the kernels' tests run them: in simulation. tests/cuda_device/ has this file once more, for a device; which of
/// the two a test gets is a matter of the include path.
namespace sluice::gpu {

/// In which order a grid runs.
using KernelOrder = simt::Order;

/// Those that a kernel gives the same result in.
inline std::vector<KernelOrder> kernel_orders() {
  return simt::all_orders();
}

/// For Launch::stream.
class KernelStream {
 public:
  explicit KernelStream(KernelOrder order = {}) : stream_{.order = order} {}
  void* get() { return &stream_; }

 private:
  simt::Stream stream_;
};

/// Until all that was launched is done. A kernel that failed fails the test.
inline void wait_for_kernels() {}

}  // namespace sluice::gpu
