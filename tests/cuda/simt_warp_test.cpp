#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/gpu.h"
#include "tests/cuda/gpu_orders.h"

namespace sluice::gpu {
namespace {

class SimtWarp : public OrderedTest {};
INSTANTIATE_TEST_SUITE_P(Orders, SimtWarp, testing::ValuesIn(simt::all_orders()), order_name);

using SimtWarpDeathTest = SimtWarp;
INSTANTIATE_TEST_SUITE_P(Orders, SimtWarpDeathTest, testing::ValuesIn(simt::all_orders()), order_name);

struct Shuffled {
  int32_t by_xor;
  float from;
  double down;
  uint64_t up;
};

GPU_KERNEL(64) void shuffle_all_ways(Shuffled* results) {
  const int32_t own = lane();
  Shuffled& result = results[thread_index().x];
  result.by_xor = shuffle_xor(own + 100 * warp(), 5);
  result.from = shuffle(static_cast<float>(own), (own * 7 + 3) % kWarpSize);
  result.down = shuffle_down(static_cast<double>(own), 3);
  result.up = shuffle_up((uint64_t{1} << 40) + static_cast<uint64_t>(own), 30);
}

TEST_P(SimtWarp, ShufflesWithinEachWarp) {
  std::vector<Shuffled> results(64);
  launch<shuffle_all_ways>({.block = {64}, .stream = stream()}, results.data());
  for (int32_t i = 0; i < 64; ++i) {
    const Shuffled& result = results[static_cast<size_t>(i)];
    const int32_t own = i % 32;
    EXPECT_EQ(result.by_xor, (own ^ 5) + 100 * (i / 32));
    EXPECT_EQ(result.from, static_cast<float>((own * 7 + 3) % 32));
    EXPECT_EQ(result.down, own + 3 < 32 ? own + 3 : own);
    EXPECT_EQ(result.up, (uint64_t{1} << 40) + static_cast<uint64_t>(own >= 30 ? own - 30 : own));
  }
}

GPU_KERNEL(32) void work_in_halves(int32_t* sums, uint32_t* claims) {
  const bool is_low = lane() < 16;
  const uint32_t mask = is_low ? 0x0000FFFFU : 0xFFFF0000U;
  int32_t sum = lane();
  for (int32_t step = is_low ? 8 : 4; step > 0; step /= 2) sum += shuffle_xor(sum, step, mask);
  sums[lane()] = sum;
  claims[lane()] = ballot(lane() % 3 == 0, mask);
}

TEST_P(SimtWarp, LetsDisjointMasksGoTheirOwnWays) {
  std::vector<int32_t> sums(32);
  std::vector<uint32_t> claims(32);
  launch<work_in_halves>({.block = {32}, .stream = stream()}, sums.data(), claims.data());
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(sums[i], 120);
    EXPECT_EQ(sums[16 + i], i < 8 ? 156 : 220);
    EXPECT_EQ(claims[i], 0b1001001001001001U);
    EXPECT_EQ(claims[16 + i], 0b0100100100100100U << 16);
  }
}

template <bool kHasBarrier>
GPU_KERNEL(32)
void pass_on(int32_t* values) {
  int32_t(&places)[32] = shared<int32_t[32]>();
  places[lane()] = values[lane()];
  if (kHasBarrier) sync_warp();
  values[lane()] = places[31 - lane()];
}

template <bool kHasBarrier>
std::vector<int32_t> passed_on(void* stream) {
  std::vector<int32_t> values(32);
  for (int32_t i = 0; i < 32; ++i) values[static_cast<size_t>(i)] = i;
  launch<pass_on<kHasBarrier>>({.block = {32}, .shared_bytes = 128, .stream = stream}, values.data());
  return values;
}

TEST_P(SimtWarp, ShowsEachLaneWhatAllWroteBeforeTheBarrier) {
  const std::vector<int32_t> values = passed_on<true>(stream());
  for (int32_t i = 0; i < 32; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], 31 - i);
  EXPECT_NE(passed_on<false>(stream()), values);
}

// ---- What a device would let pass

GPU_KERNEL(32) void shuffle_outside_of_mask() {
  if (lane() == 9) shuffle_xor(1, 1, 0x3U);
}
GPU_KERNEL(32) void shuffle_from_outside() {
  if (lane() < 8) shuffle_down(lane(), 1, 0xFFU);
}
GPU_KERNEL(32) void shuffle_from_nowhere() {
  shuffle(lane(), 32);
}
GPU_KERNEL(32) void shuffle_with_other_masks() {
  if (lane() < 3) shuffle(1, 1, lane() == 0 ? 0x3U : 0x7U);
}
GPU_KERNEL(32) void mix_operations() {
  if (lane() == 3) {
    ballot(true);
  } else {
    sync_warp();
  }
}
GPU_KERNEL(32) void mix_lines() {
  if (lane() == 3) {
    sync_warp(kFullMask, 111);
  } else {
    sync_warp(kFullMask, 222);
  }
}
GPU_KERNEL(32) void shuffle_with_returned(int32_t returned) {
  if (lane() == returned) return;
  shuffle_xor(1, 1);
}
GPU_KERNEL(32) void shuffle_with_waiting(int32_t waiting) {
  if (lane() == waiting) sync_block();
  shuffle_xor(1, 1);
  if (lane() != waiting) sync_block();
}
GPU_KERNEL(32) void shuffle_fully() {
  shuffle_xor(1, 1);
}

TEST_P(SimtWarpDeathTest, RefusesMasksThatDoNotFit) {
  const Launch how{.block = {32}, .stream = stream()};
  EXPECT_DEATH(launch<shuffle_outside_of_mask>(how), "shuffle_xor by lane 9, which is not in its mask; thread \\(9, 0");
  EXPECT_DEATH(launch<shuffle_from_outside>(how), "shuffle_down by lane 7 from lane 8, which is not in the mask");
  EXPECT_DEATH(launch<shuffle_from_nowhere>(how), "shuffle by 32, which is not in 0 to 31");
  EXPECT_DEATH(launch<shuffle_with_other_masks>(how), "different masks of thread .* in shuffle;");
  EXPECT_DEATH(launch<shuffle_fully>({.block = {31}, .stream = stream()}), "lanes in its mask that the block doesn't");
}

TEST_P(SimtWarpDeathTest, RefusesLanesThatGoDifferentWays) {
  const Launch how{.block = {32}, .stream = stream()};
  EXPECT_DEATH(launch<mix_operations>(how), "different operations of thread .*: (ballot, sync_warp|sync_warp, ballot)");
  EXPECT_DEATH(launch<mix_lines>(how), "call sync_warp at different lines: (111, 222|222, 111)");
}

// Either the lane that goes comes first, or those that wait for it.
TEST_P(SimtWarpDeathTest, RefusesToWaitForLanesThatWillNotCome) {
  const Launch how{.block = {32}, .stream = stream()};
  for (const int32_t gone : {0, 31}) {
    const std::string waits = "waits in shuffle_xor .*for thread \\(" + std::to_string(gone) + ", 0, 0\\), which ";
    EXPECT_DEATH(launch<shuffle_with_returned>(how, gone), waits + "has returned; .* at .*shuffle_with_returned");
    EXPECT_DEATH(launch<shuffle_with_waiting>(how, gone), waits + "waits at the block's barrier");
  }
}

}  // namespace
}  // namespace sluice::gpu
