#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>
#include <gmock/gmock.h>

#include "tests/cuda_device/shared_heap.h"

namespace {

constexpr int kSkipped = 77;  // what ctest is told to take for a test that could not run

/// CUDA's word for why no kernel can run here; null when one can.
const char* missing_device() {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess) return cudaGetErrorString(counted);
  const auto opened = static_cast<cudaError_t>(sluice::gpu::use_shared_heap());
  return opened == cudaSuccess ? nullptr : cudaGetErrorString(opened);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (const char* const why = missing_device(); why != nullptr) {
    std::printf("no device: %s\n", why);
    return kSkipped;
  }
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, 0) == cudaSuccess) std::printf("on %s\n", device.name);
  const int code = RUN_ALL_TESTS();
  // What is still allocated lies in memory that CUDA takes down with itself before the last destructors run.
  std::fflush(nullptr);
  std::_Exit(code);
}
