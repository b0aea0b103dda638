#pragma once

#include <cstdint>

#include "engine/cuda/kernels/expert_tile.cuh"
#include "engine/cuda/kernels/group.cuh"
#include "engine/cuda/kernels/route_tokens.cuh"

namespace sluice::engine::cuda {

/// Sorts the choices of all tokens into rows: by expert, those of one expert in the order of tokens. The rows of an
/// expert are cut into tiles; all places of `tiles` are written, whatever was chosen.
struct GroupByExpertArgs {
  const int32_t* chosen = nullptr;  // [tokens, per_token], below `experts`
  int32_t* tokens_of = nullptr;     // [rows] whose choice a row is
  int32_t* rows_of = nullptr;       // [tokens, per_token] the row of a choice
  ExpertTile* tiles = nullptr;      // [expert_tiles_max(rows, experts, tile_rows)], by expert; those that aren't last
  int32_t rows = 0;                 ///< tokens * per_token
  int32_t per_token = 0;
  int32_t experts = 0;  ///< at most kRoutedExpertsMax
  int32_t tile_rows = 0;
};

/// A thread to each expert.
constexpr int32_t kGroupByThreads = kRoutedExpertsMax;
constexpr int32_t kGroupByWarps = kGroupByThreads / gpu::kWarpSize;

struct GroupByShared {
  int32_t next[kGroupByWarps][kRoutedExpertsMax];  ///< a warp's choices of an expert, then the row of the next of them
  int32_t warp_rows[kGroupByWarps];
  int32_t warp_tiles[kGroupByWarps];
};

/// The sum over the threads before this one; `warps` is used by no other sum of the kernel. The block calls together.
GPU_DEVICE int32_t sum_of_threads_before(int32_t value, int32_t (&warps)[kGroupByWarps]) {
  int32_t sum = value;
  for (int32_t distance = 1; distance < gpu::kWarpSize; distance *= 2) {
    const int32_t other = gpu::shuffle_up(sum, distance);
    if (gpu::lane() >= distance) sum += other;
  }
  if (gpu::lane() == gpu::kWarpSize - 1) warps[gpu::warp()] = sum;
  gpu::sync_block();
  for (int32_t warp = 0; warp < gpu::warp(); ++warp) sum += warps[warp];
  return sum - value;
}

/// Of the warp's lanes, those with the same expert as this one.
GPU_DEVICE uint32_t lanes_with(int32_t expert) {
  uint32_t lanes = gpu::kFullMask;
  for (int32_t bit = 1; bit <= kRoutedExpertsMax; bit *= 2) {
    const uint32_t with_bit = gpu::ballot((expert & bit) != 0);
    lanes &= (expert & bit) != 0 ? with_bit : ~with_bit;
  }
  return lanes;
}

/// A warp's run of choices, as long as every other's.
struct ChoiceRun {
  int32_t begin;
  int32_t end;

  GPU_DEVICE static ChoiceRun of_warp(int32_t rows) {
    const int32_t length = divide_up(divide_up(rows, gpu::kWarpSize), kGroupByWarps) * gpu::kWarpSize;
    const int32_t begin = gpu::warp() * length;
    return {begin, begin + length < rows ? begin + length : rows};
  }
};

GPU_DEVICE void count_choices(const GroupByExpertArgs& args, const ChoiceRun& run, int32_t* counts) {
  for (int32_t at = run.begin + gpu::lane(); at < run.end; at += gpu::kWarpSize)
    gpu::atomic_add(&counts[args.chosen[at]], 1);
}

/// Counts become each warp's first row of the thread's expert, whose tiles are written.
GPU_DEVICE void place_expert(const GroupByExpertArgs& args, GroupByShared& shared) {
  const int32_t expert = thread_number();
  int32_t count = 0;
  for (const auto& of_warp : shared.next) count += of_warp[expert];
  const int32_t first = sum_of_threads_before(count, shared.warp_rows);
  const int32_t tile_count = divide_up(count, args.tile_rows);
  ExpertTile* tiles = args.tiles + sum_of_threads_before(tile_count, shared.warp_tiles);
  for (int32_t tile = 0; tile < tile_count; ++tile) {
    const int32_t done = tile * args.tile_rows;
    tiles[tile] = {expert, first + done, count - done < args.tile_rows ? count - done : args.tile_rows};
  }
  int32_t row = first;
  for (auto& of_warp : shared.next) {
    const int32_t of_expert = of_warp[expert];
    of_warp[expert] = row;
    row += of_expert;
  }
}

GPU_DEVICE void clear_surplus_tiles(const GroupByExpertArgs& args, const GroupByShared& shared) {
  int32_t at = thread_number();
  for (const int32_t tiles : shared.warp_tiles) at += tiles;
  const int32_t end = expert_tiles_max(args.rows, args.experts, args.tile_rows);
  for (; at < end; at += kGroupByThreads) args.tiles[at] = {};
}

/// Takes the run 32 choices at a time; lanes with one expert get its next rows in their order.
GPU_DEVICE void place_choices(const GroupByExpertArgs& args, const ChoiceRun& run, int32_t* next) {
  const uint32_t lanes_before = (1U << gpu::lane()) - 1;
  for (int32_t first = run.begin; first < run.end; first += gpu::kWarpSize) {
    const int32_t at = first + gpu::lane();
    const bool exists = at < run.end;
    const int32_t expert = exists ? args.chosen[at] : kRoutedExpertsMax;
    const uint32_t alike = lanes_with(expert);
    const int32_t rank = gpu::count_bits(alike & lanes_before);
    const int32_t row = exists ? next[expert] + rank : 0;
    gpu::sync_warp();
    if (exists && rank == 0) next[expert] += gpu::count_bits(alike);
    gpu::sync_warp();
    if (!exists) continue;
    args.tokens_of[row] = at / args.per_token;
    args.rows_of[at] = row;
  }
}

/// One block does it all, as every choice's row depends on all others.
GPU_KERNEL(kGroupByThreads)
void group_by_expert_kernel(GroupByExpertArgs args) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  auto& shared = gpu::shared<GroupByShared>();
  for (auto& of_warp : shared.next) of_warp[thread_number()] = 0;
  gpu::sync_block();
  const ChoiceRun run = ChoiceRun::of_warp(args.rows);
  count_choices(args, run, shared.next[gpu::warp()]);
  gpu::sync_block();
  place_expert(args, shared);
  clear_surplus_tiles(args, shared);
  gpu::sync_block();
  place_choices(args, run, shared.next[gpu::warp()]);
}

inline int32_t launch_group_by_expert(const GroupByExpertArgs& args, void* stream) {
  return gpu::launch<group_by_expert_kernel>({.grid = {1},
                                              .block = {kGroupByThreads},
                                              .shared_bytes = sizeof(GroupByShared),
                                              .stream = stream,
                                              .overlaps_previous = true},
                                             args);
}

}  // namespace sluice::engine::cuda
