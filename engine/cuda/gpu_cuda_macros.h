#pragma once

// nvcc ignores `inline` on a kernel; `static` too lets one that is no template stand in a header, whoever uses it.
#define GPU_KERNEL(threads_max) [[maybe_unused]] static __global__ __launch_bounds__(threads_max)
#define GPU_KERNEL_RESIDENT(threads_max, blocks) \
  [[maybe_unused]] static __global__ __launch_bounds__(threads_max, blocks)
#define GPU_DEVICE __device__ __forceinline__
#define GPU_BOTH __host__ __device__ __forceinline__
#define GPU_UNROLL _Pragma("unroll")
