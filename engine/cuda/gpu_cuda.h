#pragma once

#include <cstring>
#include <type_traits>

#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "engine/cuda/gpu.h"
#include "engine/cuda/simt/simt_numbers.h"

/// gpu.h for nvcc, for compute capability 8.0 and later. Include that file, not this one.
namespace sluice::gpu {

// ---- Who am I

GPU_DEVICE Dim3 thread_index() {
  return {threadIdx.x, threadIdx.y, threadIdx.z};
}
GPU_DEVICE Dim3 block_index() {
  return {blockIdx.x, blockIdx.y, blockIdx.z};
}
GPU_DEVICE Dim3 block_size() {
  return {blockDim.x, blockDim.y, blockDim.z};
}
GPU_DEVICE Dim3 grid_size() {
  return {gridDim.x, gridDim.y, gridDim.z};
}

namespace device {

/// Of the thread within its block, x first.
GPU_DEVICE int32_t thread_number() {
  return static_cast<int32_t>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

/// What PTX calls an address in shared memory.
GPU_DEVICE uint32_t shared_address(const void* at) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(at));
}

template <typename To, typename From>
GPU_DEVICE To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<From>);
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

/// What shuffles a T.
template <typename T>
using ShuffleBits = std::conditional_t<sizeof(T) == 4, unsigned int, unsigned long long>;

}  // namespace device

GPU_DEVICE int32_t lane() {
  return device::thread_number() % kWarpSize;
}
GPU_DEVICE int32_t warp() {
  return device::thread_number() / kWarpSize;
}

// ---- Numbers as they are stored

// On the host by the code that the simulation has, which gives the same bits.
GPU_BOTH float to_float(float value) {
  return value;
}
GPU_BOTH float to_float(Bf16 value) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
#else
  return simt::bf16_to_float(value.bits);
#endif
}
GPU_BOTH float to_float(Half value) {
#ifdef __CUDA_ARCH__
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
#else
  return simt::half_to_float(value.bits);
#endif
}
GPU_BOTH float to_float(Fp8 value) {
#ifdef __CUDA_ARCH__
  return to_float(Half{__nv_cvt_fp8_to_halfraw(value.bits, __NV_E4M3).x});
#else
  return simt::fp8_to_float(value.bits);
#endif
}

template <>
GPU_BOTH float from_float<float>(float value) {
  return value;
}
template <>
GPU_BOTH Bf16 from_float<Bf16>(float value) {
#ifdef __CUDA_ARCH__
  Bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
#else
  return {simt::float_to_bf16(value)};
#endif
}
template <>
GPU_BOTH Half from_float<Half>(float value) {
#ifdef __CUDA_ARCH__
  Half result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
#else
  return {simt::float_to_half(value)};
#endif
}
template <>
GPU_BOTH Fp8 from_float<Fp8>(float value) {
#ifdef __CUDA_ARCH__
  return {__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3)};
#else
  return {simt::float_to_fp8(value)};
#endif
}

GPU_DEVICE uint32_t pack_bf16(float low, float high) {
  uint32_t result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}

// One instruction, which is 2 units in the last place off at most: what softmax spends its time on.
GPU_DEVICE float exp2(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}
GPU_DEVICE float exp(float value) {
  return ::expf(value);
}
GPU_DEVICE float log(float value) {
  return ::logf(value);
}
GPU_DEVICE float tanh(float value) {
  return ::tanhf(value);
}
GPU_DEVICE float rsqrt(float value) {
  return ::rsqrtf(value);
}
GPU_DEVICE double cos(double value) {
  return ::cos(value);
}
GPU_DEVICE double sin(double value) {
  return ::sin(value);
}
GPU_DEVICE float fma(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
GPU_DEVICE float rounded_product(float a, float b) {
  return __fmul_rn(a, b);
}
GPU_DEVICE double rounded_product(double a, double b) {
  return __dmul_rn(a, b);
}
GPU_DEVICE int32_t count_bits(uint32_t value) {
  return __popc(value);
}

// ---- The block and the warp. Lines are for the simulation.

template <typename T>
GPU_DEVICE T& shared() {
  extern __shared__ __align__(128) unsigned char shared_memory_of_block[];
  return *reinterpret_cast<T*>(shared_memory_of_block);
}
GPU_DEVICE void sync_block(int) {
  __syncthreads();
}
GPU_DEVICE void sync_warp(uint32_t mask, int) {
  __syncwarp(mask);
}

template <typename T>
GPU_DEVICE T shuffle_xor(T value, int32_t lane_mask, uint32_t mask, int) {
  return device::bit_cast<T>(__shfl_xor_sync(mask, device::bit_cast<device::ShuffleBits<T>>(value), lane_mask));
}
template <typename T>
GPU_DEVICE T shuffle(T value, int32_t source, uint32_t mask, int) {
  return device::bit_cast<T>(__shfl_sync(mask, device::bit_cast<device::ShuffleBits<T>>(value), source));
}
template <typename T>
GPU_DEVICE T shuffle_down(T value, int32_t delta, uint32_t mask, int) {
  const auto by = static_cast<unsigned int>(delta);
  return device::bit_cast<T>(__shfl_down_sync(mask, device::bit_cast<device::ShuffleBits<T>>(value), by));
}
template <typename T>
GPU_DEVICE T shuffle_up(T value, int32_t delta, uint32_t mask, int) {
  const auto by = static_cast<unsigned int>(delta);
  return device::bit_cast<T>(__shfl_up_sync(mask, device::bit_cast<device::ShuffleBits<T>>(value), by));
}
GPU_DEVICE uint32_t ballot(bool claim, uint32_t mask, int) {
  return __ballot_sync(mask, claim);
}

// ---- Memory

template <typename T, typename From>
GPU_DEVICE T& as_one(From* at) {
  return *reinterpret_cast<T*>(at);
}

GPU_DEVICE float atomic_add(float* at, float value) {
  return atomicAdd(at, value);
}
GPU_DEVICE int32_t atomic_add(int32_t* at, int32_t value) {
  return atomicAdd(at, value);
}
GPU_DEVICE uint32_t atomic_max(uint32_t* at, uint32_t value) {
  return atomicMax(at, value);
}
GPU_DEVICE uint64_t atomic_max(uint64_t* at, uint64_t value) {
  return atomicMax(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
}

// "memory" keeps the compiler from moving reads and writes of shared memory across.
GPU_DEVICE void copy_async(void* shared_to, const void* global_from, int32_t bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(device::shared_address(shared_to)),
               "l"(__cvta_generic_to_global(global_from)), "r"(bytes)
               : "memory");
}
GPU_DEVICE void copy_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int32_t kGroups>
GPU_DEVICE void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

// ---- Matrices of a warp

GPU_DEVICE void load_matrices(uint32_t (&to)[4], const void* shared_row, int) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(device::shared_address(shared_row))
               : "memory");
}
GPU_DEVICE void load_matrices_transposed(uint32_t (&to)[4], const void* shared_row, int) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(device::shared_address(shared_row))
               : "memory");
}
GPU_DEVICE void multiply_add(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], int) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// ---- The grid

// Devices before compute capability 9.0 run one kernel after the other.
GPU_DEVICE void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
GPU_DEVICE void start_next_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Whether this thread's device has programmatic dependent launch.
inline bool overlaps_kernels() {
  int device = 0;
  int major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major >= 9;
}

template <auto kKernel, typename... Args>
int32_t launch(const Launch& how, Args... args) {
  static_assert((std::is_trivially_copyable_v<Args> && ...));
  // A kernel may take this much without asking.
  constexpr size_t kSharedBytesUnasked = 48 << 10;
  if (how.shared_bytes > kSharedBytesUnasked) {
    const cudaError_t asked =
        cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(how.shared_bytes));
    if (asked != cudaSuccess) return static_cast<int32_t>(asked);
  }
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(how.grid.x, how.grid.y, how.grid.z);
  config.blockDim = dim3(how.block.x, how.block.y, how.block.z);
  config.dynamicSmemBytes = how.shared_bytes;
  config.stream = static_cast<cudaStream_t>(how.stream);
  config.attrs = &overlap;
  config.numAttrs = how.overlaps_previous && overlaps_kernels() ? 1 : 0;
  return static_cast<int32_t>(cudaLaunchKernelEx(&config, kKernel, args...));
}

}  // namespace sluice::gpu
