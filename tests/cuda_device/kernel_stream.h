#pragma once

#include <vector>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

/// Where the kernels' tests run them: on a device. tests/cuda/simulated/kernel_stream.h tells of the same for the
/// simulation.
namespace sluice::gpu {

/// A device runs a grid in what order it likes.
struct KernelOrder {};

/// One run more, which is to give the same.
inline std::vector<KernelOrder> kernel_orders() {
  return {{}};
}

/// For Launch::stream.
class KernelStream {
 public:
  explicit KernelStream(KernelOrder /*order*/ = {}) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~KernelStream() { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
  KernelStream(const KernelStream&) = delete;
  KernelStream& operator=(const KernelStream&) = delete;

  void* get() { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Until all that was launched is done. A kernel that failed fails the test.
inline void wait_for_kernels() {
  const cudaError_t done = cudaDeviceSynchronize();
  EXPECT_EQ(done, cudaSuccess) << cudaGetErrorString(done);
  // Of a launch that was refused, which nothing has to wait for.
  const cudaError_t launched = cudaGetLastError();
  EXPECT_EQ(launched, cudaSuccess) << cudaGetErrorString(launched);
}

}  // namespace sluice::gpu
