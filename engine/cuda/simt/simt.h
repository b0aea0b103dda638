#pragma once

#include <bit>
#include <cmath>
#include <tuple>
#include <type_traits>

#include "engine/cuda/gpu.h"
#include "engine/cuda/simt/simt_calls.h"
#include "engine/cuda/simt/simt_numbers.h"

/// gpu.h for g++. Include that file, not this one.
namespace sluice::gpu {

inline Dim3 thread_index() {
  return simt::thread_index();
}
inline Dim3 block_index() {
  return simt::block_index();
}
inline Dim3 block_size() {
  return simt::block_size();
}
inline Dim3 grid_size() {
  return simt::grid_size();
}
inline int32_t lane() {
  return simt::thread_number() % kWarpSize;
}
inline int32_t warp() {
  return simt::thread_number() / kWarpSize;
}

inline float to_float(float value) {
  return value;
}
inline float to_float(Bf16 value) {
  return simt::bf16_to_float(value.bits);
}
inline float to_float(Half value) {
  return simt::half_to_float(value.bits);
}
inline float to_float(Fp8 value) {
  return simt::fp8_to_float(value.bits);
}

template <>
inline float from_float<float>(float value) {
  return value;
}
template <>
inline Bf16 from_float<Bf16>(float value) {
  return {simt::float_to_bf16(value)};
}
template <>
inline Half from_float<Half>(float value) {
  return {simt::float_to_half(value)};
}
template <>
inline Fp8 from_float<Fp8>(float value) {
  return {simt::float_to_fp8(value)};
}

inline uint32_t pack_bf16(float low, float high) {
  return simt::float_to_bf16(low) | static_cast<uint32_t>(simt::float_to_bf16(high)) << 16;
}

inline float exp2(float value) {
  return std::exp2(value);
}
inline float exp(float value) {
  return std::exp(value);
}
inline float log(float value) {
  return std::log(value);
}
inline float tanh(float value) {
  return std::tanh(value);
}
inline float rsqrt(float value) {
  return 1.0F / std::sqrt(value);
}
inline double cos(double value) {
  return std::cos(value);
}
inline double sin(double value) {
  return std::sin(value);
}
inline float fma(float a, float b, float c) {
  return std::fma(a, b, c);
}
// g++ makes no fma of it with the project's options.
inline float rounded_product(float a, float b) {
  return a * b;
}
inline double rounded_product(double a, double b) {
  return a * b;
}
inline int32_t count_bits(uint32_t value) {
  return std::popcount(value);
}

template <typename T>
inline T& shared() {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);
  return *static_cast<T*>(simt::shared_memory(sizeof(T), alignof(T)));
}
inline void sync_block(int line) {
  simt::sync_block(line);
}

namespace simt {

/// A shuffle of any type as one of the bits that hold it.
template <typename T>
T shuffle_bits(Shuffle how, T value, int32_t by, uint32_t mask, int line) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const uint64_t bits = shuffle(how, std::bit_cast<Bits>(value), by, mask, line);
  return std::bit_cast<T>(static_cast<Bits>(bits));
}

}  // namespace simt

inline void sync_warp(uint32_t mask, int line) {
  simt::sync_warp(mask, line);
}
template <typename T>
inline T shuffle_xor(T value, int32_t lane_mask, uint32_t mask, int line) {
  return simt::shuffle_bits(simt::Shuffle::kXor, value, lane_mask, mask, line);
}
template <typename T>
inline T shuffle(T value, int32_t source, uint32_t mask, int line) {
  return simt::shuffle_bits(simt::Shuffle::kFrom, value, source, mask, line);
}
template <typename T>
inline T shuffle_down(T value, int32_t delta, uint32_t mask, int line) {
  return simt::shuffle_bits(simt::Shuffle::kDown, value, delta, mask, line);
}
template <typename T>
inline T shuffle_up(T value, int32_t delta, uint32_t mask, int line) {
  return simt::shuffle_bits(simt::Shuffle::kUp, value, delta, mask, line);
}
inline uint32_t ballot(bool claim, uint32_t mask, int line) {
  return simt::ballot(claim, mask, line);
}

template <typename T, typename From>
inline T& as_one(From* at) {
  simt::check_alignment(at, alignof(T));
  return *reinterpret_cast<T*>(at);
}

// One thread runs at a time, so an atomic operation is an operation. It races with no other atomic one.
[[gnu::no_sanitize("thread")]] inline float atomic_add(float* at, float value) {
  const float before = *at;
  *at += value;
  return before;
}
[[gnu::no_sanitize("thread")]] inline int32_t atomic_add(int32_t* at, int32_t value) {
  const int32_t before = *at;
  // Wraps, as on a device.
  *at = static_cast<int32_t>(static_cast<uint32_t>(before) + static_cast<uint32_t>(value));
  return before;
}
[[gnu::no_sanitize("thread")]] inline uint32_t atomic_max(uint32_t* at, uint32_t value) {
  const uint32_t before = *at;
  if (value > before) *at = value;
  return before;
}
[[gnu::no_sanitize("thread")]] inline uint64_t atomic_max(uint64_t* at, uint64_t value) {
  const uint64_t before = *at;
  if (value > before) *at = value;
  return before;
}

inline void copy_async(void* shared_to, const void* global_from, int32_t bytes) {
  simt::copy_async(shared_to, global_from, bytes);
}
inline void copy_async_commit() {
  simt::copy_async_commit();
}
template <int32_t kGroups>
inline void copy_async_wait() {
  static_assert(kGroups >= 0);
  simt::copy_async_wait(kGroups);
}

inline void load_matrices(uint32_t (&to)[4], const void* shared_row, int line) {
  simt::load_matrices(to, shared_row, line);
}
inline void load_matrices_transposed(uint32_t (&to)[4], const void* shared_row, int line) {
  simt::load_matrices_transposed(to, shared_row, line);
}
inline void multiply_add(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], int line) {
  simt::multiply_add(sum, a, b, line);
}

inline void wait_for_previous_kernel() {
  simt::wait_for_previous_kernel();
}
inline void start_next_kernel() {
  simt::start_next_kernel();
}

template <auto kKernel, typename... Args>
int32_t launch(const Launch& how, Args... args) {
  static_assert((std::is_trivially_copyable_v<Args> && ...));
  static_assert(std::is_void_v<decltype(kKernel(args...))>);
  static_assert(sizeof(std::tuple<Args...>) <= kArgumentBytesMax);
  simt::launch_grid(how, __PRETTY_FUNCTION__, [=] { kKernel(args...); });
  return 0;
}

}  // namespace sluice::gpu
