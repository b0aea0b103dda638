#pragma once

#include <cstdint>

#include "engine/cuda/kernels/eight_quants.cuh"
#include "engine/cuda/kernels/group.cuh"

namespace sluice::engine::cuda {

/// out = what the blocks stand for; Out is bf16 or float.
template <typename Out>
struct DequantizeArgs {
  const uint8_t* blocks = nullptr;  // [block_count] of a type's blocks; a multiple of 4
  Out* out = nullptr;               // [block_count, elements of a block]
  int64_t block_count = 0;
};

constexpr int32_t kDequantizeThreads = 256;

/// A thread to eight elements.
template <TensorType kType, typename Out>
GPU_KERNEL(kDequantizeThreads)
void dequantize_kernel(DequantizeArgs<Out> args) {
  constexpr int32_t kGroups = BlockFormat<kType>::kElements / kGroup;
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const int64_t group = int64_t{block_in_grid()} * threads_in_block() + thread_number();
  const int64_t at = group / kGroups;
  if (at >= args.block_count) return;
  const QuantBlock<kType> block{args.blocks + at * BlockFormat<kType>::kBytes};
  float values[kGroup];
  expand_quants<kType>(hold_quants(block, static_cast<int32_t>(group % kGroups) * kGroup), values);
  store_group(args.out + group * kGroup, kGroup, values);
}

template <TensorType kType, typename Out>
int32_t launch_dequantize_of(const DequantizeArgs<Out>& args, void* stream) {
  const int64_t groups = args.block_count * (BlockFormat<kType>::kElements / kGroup);
  const auto blocks = static_cast<uint32_t>(divide_up(groups, int64_t{kDequantizeThreads}));
  return gpu::launch<dequantize_kernel<kType, Out>>(
      {.grid = {blocks}, .block = {kDequantizeThreads}, .stream = stream, .overlaps_previous = true}, args);
}

/// `type` is a quantised one.
template <typename Out>
int32_t launch_dequantize(TensorType type, const DequantizeArgs<Out>& args, void* stream) {
  constexpr auto kLaunches = per_quantized_type<int32_t (*)(const DequantizeArgs<Out>&, void*)>(
      [](auto tag) { return launch_dequantize_of<decltype(tag)::kType, Out>; });
  return kLaunches[type](args, stream);
}

}  // namespace sluice::engine::cuda
