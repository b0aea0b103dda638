#pragma once

#include <cstdint>
#include <utility>

#include "engine/cuda/gpu.h"
#include "engine/cuda/kernels/thread_number.cuh"

// Rows are read and written in groups of eight elements, one or two instructions of 16 bytes where the group lies whole
// and aligned, else element by element. What a group holds doesn't depend on which it was.

namespace sluice::engine::cuda {

constexpr int32_t kGroup = 8;
constexpr int32_t kPacketBytesMax = 16;  ///< that one instruction moves

/// Elements of a group that one instruction moves.
template <typename T>
constexpr int32_t kPacket = sizeof(T) * kGroup <= kPacketBytesMax ? kGroup
                                                                  : kPacketBytesMax / static_cast<int32_t>(sizeof(T));

template <typename T>
struct alignas(kPacket<T> * sizeof(T)) Packet {
  T values[kPacket<T>];
};

template <typename T>
GPU_DEVICE bool is_aligned(const T* at) {
  return reinterpret_cast<uintptr_t>(at) % alignof(Packet<T>) == 0;
}
template <typename T>
GPU_DEVICE bool is_whole(const T* at, int32_t left) {
  return left >= kGroup && is_aligned(at);
}

/// step(0), step(1), ... written out, so that what the index chooses can be in registers, however long a step is.
template <int32_t kCount, typename Step>
GPU_DEVICE void unrolled(const Step& step) {
  [&]<int32_t... kIndex>(std::integer_sequence<int32_t, kIndex...> /*all*/) {
    (step(kIndex), ...);
  }
  (std::make_integer_sequence<int32_t, kCount>());
}

/// Eight bf16 as four registers: a pair is taken apart by one instruction an element, and held in half the registers
/// that eight apart would take.
struct alignas(16) Bf16Pairs {
  uint32_t pairs[kGroup / 2];
};
GPU_DEVICE void expand_pairs(const Bf16Pairs& from, float (&to)[kGroup]) {
  unrolled<kGroup / 2>([&](int32_t i) {
    to[2 * i] = __builtin_bit_cast(float, from.pairs[i] << 16);
    to[2 * i + 1] = __builtin_bit_cast(float, from.pairs[i] & 0xFFFF0000U);
  });
}

/// to = the eight elements from `from` on, which is aligned.
template <typename T>
GPU_DEVICE void load_aligned(const T* from, float (&to)[kGroup]) {
  for (int32_t first = 0; first < kGroup; first += kPacket<T>) {
    const Packet<T> packet = gpu::as_one<const Packet<T>>(from + first);
    unrolled<kPacket<T>>([&](int32_t i) { to[first + i] = gpu::to_float(packet.values[i]); });
  }
}

/// to = the eight elements from `from` on, of which the row has `left`; zeros beyond.
template <typename T>
GPU_DEVICE void load_group(const T* from, int32_t left, float (&to)[kGroup]) {
  if (is_whole(from, left)) return load_aligned(from, to);
  for (int32_t i = 0; i < kGroup; ++i) to[i] = i < left ? gpu::to_float(from[i]) : 0.0F;
}

/// Stores as many of the eight as the row has left.
template <typename T>
GPU_DEVICE void store_group(T* to, int32_t left, const float (&from)[kGroup]) {
  if (is_whole(to, left)) {
    for (int32_t first = 0; first < kGroup; first += kPacket<T>) {
      Packet<T> packet;
      unrolled<kPacket<T>>([&](int32_t i) { packet.values[i] = gpu::from_float<T>(from[first + i]); });
      gpu::as_one<Packet<T>>(to + first) = packet;
    }
    return;
  }
  unrolled<kGroup>([&](int32_t i) {
    if (i < left) to[i] = gpu::from_float<T>(from[i]);
  });
}

/// The same of a part of a row that is all there: a group, or one element.
template <typename T>
GPU_DEVICE void load_whole(const T* from, float (&to)[kGroup]) {
  load_group(from, kGroup, to);
}
template <typename T>
GPU_DEVICE void load_whole(const T* from, float (&to)[1]) {
  to[0] = gpu::to_float(*from);
}
template <typename T>
GPU_DEVICE void store_whole(T* to, const float (&from)[kGroup]) {
  store_group(to, kGroup, from);
}
template <typename T>
GPU_DEVICE void store_whole(T* to, const float (&from)[1]) {
  *to = gpu::from_float<T>(from[0]);
}

GPU_DEVICE int32_t threads_in_block() {
  return static_cast<int32_t>(gpu::block_size().x);
}
GPU_DEVICE int32_t block_in_grid() {
  return static_cast<int32_t>(gpu::block_index().x);
}

template <typename T>
GPU_BOTH constexpr T divide_up(T count, T by) {
  return (count + by - 1) / by;
}
constexpr int32_t groups_of(int32_t width) {
  return divide_up(width, kGroup);
}

/// Whole warps with a thread for each of `count`, at most `threads_max`.
constexpr uint32_t threads_for(int32_t count, int32_t threads_max) {
  const int32_t whole_warps = divide_up(count, gpu::kWarpSize) * gpu::kWarpSize;
  return static_cast<uint32_t>(whole_warps < threads_max ? whole_warps : threads_max);
}

/// A grid with a thread for each group of every token's row: tokens along x, the blocks of one along y.
inline gpu::Launch row_groups_launch(int32_t tokens, int32_t width, int32_t threads_max, void* stream) {
  const int32_t groups = groups_of(width);
  const uint32_t threads = threads_for(groups, threads_max);
  return {.grid = {static_cast<uint32_t>(tokens), divide_up(static_cast<uint32_t>(groups), threads)},
          .block = {threads},
          .stream = stream,
          .overlaps_previous = true};
}

/// A thread's group in such a grid.
struct RowGroup {
  int64_t token;
  int32_t at;    ///< elements of the row before it
  int32_t left;  ///< elements of the row from it on; not above 0 for a thread too many

  GPU_DEVICE static RowGroup of_thread(int32_t width) {
    const int32_t chunk = static_cast<int32_t>(gpu::block_index().y);
    const int32_t at = (chunk * threads_in_block() + thread_number()) * kGroup;
    return {block_in_grid(), at, width - at};
  }
};

}  // namespace sluice::engine::cuda
