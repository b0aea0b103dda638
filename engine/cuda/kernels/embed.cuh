#pragma once

#include <cstdint>

#include "engine/cuda/kernels/group.cuh"

namespace sluice::engine::cuda {

/// out[t] = scale * table[token_ids[t]]; Stored is bf16, half or float, Out bf16 or float.
template <typename Stored, typename Out>
struct EmbedArgs {
  const Stored* table = nullptr;       // [vocabulary, width]
  const int32_t* token_ids = nullptr;  // [tokens], each below the vocabulary
  Out* out = nullptr;                  // [tokens, width]
  int32_t tokens = 0;
  int32_t width = 0;
  float scale = 1;
};

constexpr int32_t kEmbedThreads = 256;

/// A block copies a token's row.
template <typename Stored, typename Out>
GPU_KERNEL(kEmbedThreads)
void embed_kernel(EmbedArgs<Stored, Out> args) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const int32_t token = block_in_grid();
  const Stored* from = args.table + int64_t{args.token_ids[token]} * args.width;
  Out* to = args.out + int64_t{token} * args.width;
  for (int32_t at = thread_number() * kGroup; at < args.width; at += threads_in_block() * kGroup) {
    float values[kGroup];
    load_group(from + at, args.width - at, values);
    for (float& value : values) value *= args.scale;
    store_group(to + at, args.width - at, values);
  }
}

template <typename Stored, typename Out>
int32_t launch_embed(const EmbedArgs<Stored, Out>& args, void* stream) {
  return gpu::launch<embed_kernel<Stored, Out>>({.grid = {static_cast<uint32_t>(args.tokens)},
                                                 .block = {threads_for(groups_of(args.width), kEmbedThreads)},
                                                 .stream = stream,
                                                 .overlaps_previous = true},
                                                args);
}

}  // namespace sluice::engine::cuda
