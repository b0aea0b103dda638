#pragma once

#include <cstddef>
#include <cstdint>

/// What a kernel may say, once for nvcc and once for g++: a kernel in kernels/*.cuh is written against this file alone.
/// nvcc makes instructions of it (gpu_cuda.h). g++ makes a simulation of it (simt/), which runs the same source in
/// ordinary tests and stops with a message at what a device would let pass: barriers that not all threads reach,
/// shuffles with lanes missing, shared memory read before it is written or beyond its end, copies used before they are
/// waited for, addresses that a wide instruction can't take, launches that the smallest device refuses; and races in
/// shared memory (simt/simt_races.h).
///
///   GPU_KERNEL(256) void scale(float* values, int32_t count, float by) {   // at most 256 threads in a block
///     const int32_t at = gpu::block_index().x * gpu::block_size().x + gpu::thread_index().x;
///     if (at < count) values[at] *= by;
///   }
///   gpu::launch<scale>({.grid = {blocks}, .block = {256}}, values, count, 2.0F);
///
/// GPU_KERNEL_RESIDENT(256, 4) has the compiler leave room for 4 such blocks on a multiprocessor at once, and lets it
/// use all the registers that this leaves a thread.
/// GPU_DEVICE functions are for kernels to call, GPU_BOTH ones also for the host.
///
/// Kernels are functions, or templates of them, that return nothing and whose arguments are trivially copyable. All
/// lanes of a mask call an operation of the warp together, with the same mask. `line` is left to its default.
#ifdef __CUDACC__
#include "engine/cuda/gpu_cuda_macros.h"
#else
#include "engine/cuda/simt/simt_macros.h"
#endif

namespace sluice::gpu {

struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
};

constexpr int32_t kWarpSize = 32;
constexpr uint32_t kFullMask = 0xFFFFFFFFU;

// ---- Who am I

GPU_DEVICE Dim3 thread_index();
GPU_DEVICE Dim3 block_index();
GPU_DEVICE Dim3 block_size();
GPU_DEVICE Dim3 grid_size();
/// Threads of a block are numbered x first; 32 of them make a warp.
GPU_DEVICE int32_t lane();
GPU_DEVICE int32_t warp();

// ---- Numbers as they are stored. Arithmetic is done in float.

struct Bf16 {
  uint16_t bits;
};
struct Half {
  uint16_t bits;
};
/// e4m3: no infinities, largest 448; what is beyond saturates.
struct Fp8 {
  uint8_t bits;
};

GPU_BOTH float to_float(float value);
GPU_BOTH float to_float(Bf16 value);
GPU_BOTH float to_float(Half value);
GPU_BOTH float to_float(Fp8 value);
/// Rounded to the nearest, ties to even.
template <typename T>
GPU_BOTH T from_float(float value);
/// Two bf16 in one register, `low` in the lower half: what mma takes.
GPU_DEVICE uint32_t pack_bf16(float low, float high);

GPU_DEVICE float exp2(float value);
GPU_DEVICE float exp(float value);
GPU_DEVICE float log(float value);
GPU_DEVICE float tanh(float value);
GPU_DEVICE float rsqrt(float value);
GPU_DEVICE double cos(double value);
GPU_DEVICE double sin(double value);
/// One rounding.
GPU_DEVICE float fma(float a, float b, float c);
/// a * b rounded by itself, where a compiler would else make an fma of it and a sum around it: for results that are the
/// same to the bit as on the CPU.
GPU_DEVICE float rounded_product(float a, float b);
GPU_DEVICE double rounded_product(double a, double b);
/// Bits that are set.
GPU_DEVICE int32_t count_bits(uint32_t value);

// ---- The block

/// The block's shared memory as one T, which the launch asks for with shared_bytes = sizeof(T) (or more, for an array
/// behind it). Trivial types only; nothing is set.
template <typename T>
GPU_DEVICE T& shared();
/// Every thread of the block that has not returned comes here; what each wrote before, all see after.
GPU_DEVICE void sync_block(int line = __builtin_LINE());

// ---- The warp

GPU_DEVICE void sync_warp(uint32_t mask = kFullMask, int line = __builtin_LINE());
/// `value` of another lane: of lane() ^ lane_mask, of `source`, of lane() + delta, of lane() - delta; one's own where
/// there is no such lane. T has 4 or 8 bytes. That lane is in the mask.
template <typename T>
GPU_DEVICE T shuffle_xor(T value, int32_t lane_mask, uint32_t mask = kFullMask, int line = __builtin_LINE());
template <typename T>
GPU_DEVICE T shuffle(T value, int32_t source, uint32_t mask = kFullMask, int line = __builtin_LINE());
template <typename T>
GPU_DEVICE T shuffle_down(T value, int32_t delta, uint32_t mask = kFullMask, int line = __builtin_LINE());
template <typename T>
GPU_DEVICE T shuffle_up(T value, int32_t delta, uint32_t mask = kFullMask, int line = __builtin_LINE());
/// Bit i is whether lane i's claim holds.
GPU_DEVICE uint32_t ballot(bool claim, uint32_t mask = kFullMask, int line = __builtin_LINE());

// ---- Memory

/// What lies at `at` as one T, which one instruction moves: `at` is a multiple of alignof(T), or a device ends the
/// kernel. T is const where From is.
template <typename T, typename From>
GPU_DEVICE T& as_one(From* at);

/// What was there before. In no order that anybody may rely on.
GPU_DEVICE float atomic_add(float* at, float value);
GPU_DEVICE int32_t atomic_add(int32_t* at, int32_t value);
GPU_DEVICE uint32_t atomic_max(uint32_t* at, uint32_t value);
GPU_DEVICE uint64_t atomic_max(uint64_t* at, uint64_t value);

/// Copies 16 bytes, both addresses multiples of 16, from global to shared memory some time before wait returns in this
/// thread. The first `bytes` of them (0 to 16) are read, the others set to zero.
GPU_DEVICE void copy_async(void* shared_to, const void* global_from, int32_t bytes = 16);
/// What this thread has copied since the last commit is one group.
GPU_DEVICE void copy_async_commit();
/// Until at most `kGroups` of this thread's latest groups are under way. Other threads see the bytes after a barrier.
template <int32_t kGroups>
GPU_DEVICE void copy_async_wait();

// ---- Matrices of a warp; all 32 lanes call together

/// Four 8x8 matrices of 16-bit elements from shared memory. Lane i names row i % 8 of matrix i / 8, 16 bytes at a
/// multiple of 16; register j of lane i gets elements 2 (i % 4) and + 1 of row i / 4 of matrix j.
GPU_DEVICE void load_matrices(uint32_t (&to)[4], const void* shared_row, int line = __builtin_LINE());
/// The same, each matrix transposed: register j of lane i gets elements (2 (i % 4), i / 4) and (2 (i % 4) + 1, i / 4).
GPU_DEVICE void load_matrices_transposed(uint32_t (&to)[4], const void* shared_row, int line = __builtin_LINE());
/// sum [16, 8] += a [16, 16] * b [16, 8] of bf16, added in float (mma.m16n8k16). With g = lane / 4, t = lane % 4:
/// a: rows g, g + 8, g, g + 8; columns 2t and 2t + 1 in the first two registers, 2t + 8 and 2t + 9 in the others.
/// b: column g; rows 2t and 2t + 1 in the first, 2t + 8 and 2t + 9 in the second.
/// sum: row g columns 2t and 2t + 1, then row g + 8 the same.
GPU_DEVICE void multiply_add(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                             int line = __builtin_LINE());

// ---- The grid

/// Programmatic dependent launch: what the kernel before wrote may be read after this. A kernel that calls
/// start_next_kernel calls this first, or it would overtake its grandparent. Without the launch attribute both do
/// nothing.
GPU_DEVICE void wait_for_previous_kernel();
GPU_DEVICE void start_next_kernel();

struct Launch {
  Dim3 grid{};
  Dim3 block{};
  size_t shared_bytes = 0;
  void* stream = nullptr;          ///< a cudaStream_t; the simulation runs the kernel before it returns
  bool overlaps_previous = false;  ///< programmatic dependent launch
};

/// Shared memory of a block on the devices that have least of it (compute capabilities 8.6 and 8.9).
constexpr size_t kSharedBytesMax = 99 << 10;
/// What a kernel's arguments may take together.
constexpr size_t kArgumentBytesMax = 4096;

/// Runs a kernel over a grid after what the stream has before it. 0, or the code of CUDA's error; the simulation aborts
/// instead, with the kernel's name, the line and the thread.
template <auto kKernel, typename... Args>
int32_t launch(const Launch& how, Args... args);

}  // namespace sluice::gpu

#ifdef __CUDACC__
#include "engine/cuda/gpu_cuda.h"
#else
#include "engine/cuda/simt/simt.h"
#endif
