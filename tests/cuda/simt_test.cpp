#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/gpu.h"
#include "tests/cuda/gpu_orders.h"

namespace sluice::gpu {
namespace {

class SimtBlock : public OrderedTest {};
INSTANTIATE_TEST_SUITE_P(Orders, SimtBlock, testing::ValuesIn(simt::all_orders()), order_name);

using SimtBlockDeathTest = SimtBlock;
INSTANTIATE_TEST_SUITE_P(Orders, SimtBlockDeathTest, testing::ValuesIn(simt::all_orders()), order_name);

// ---- Who am I

constexpr Dim3 kGrid{3, 2, 4};
constexpr Dim3 kBlock{5, 3, 3};
constexpr int32_t kBlockThreads = 45;

GPU_KERNEL(64) void count_threads(int32_t* visits) {
  const Dim3 t = thread_index();
  const Dim3 b = block_index();
  const bool is_told_sizes = grid_size().y == kGrid.y && block_size().z == kBlock.z;
  const auto thread = static_cast<int32_t>(t.x + kBlock.x * (t.y + kBlock.y * t.z));
  const auto block = static_cast<int32_t>(b.x + kGrid.x * (b.y + kGrid.y * b.z));
  const bool is_numbered = warp() * kWarpSize + lane() == thread;
  visits[block * kBlockThreads + thread] += is_told_sizes && is_numbered ? 1 : 100;
}

TEST_P(SimtBlock, RunsEachThreadOfEachBlockOnce) {
  std::vector<int32_t> visits(24 * kBlockThreads);
  launch<count_threads>({.grid = kGrid, .block = kBlock, .stream = stream()}, visits.data());
  EXPECT_EQ(visits, std::vector<int32_t>(visits.size(), 1));
}

GPU_KERNEL(1) void note_turn(int32_t* turns, int32_t* count) {
  turns[block_index().x] = (*count)++;
}

std::vector<int32_t> turns_of_blocks(simt::Order order) {
  std::vector<int32_t> turns(20);
  int32_t count = 0;
  simt::Stream stream{order};
  launch<note_turn>({.grid = {20}, .block = {1}, .stream = &stream}, turns.data(), &count);
  return turns;
}

TEST(SimtOrder, DecidesWhichBlockRunsFirst) {
  using Kind = simt::Order::Kind;
  EXPECT_EQ(turns_of_blocks({Kind::kForward, 0})[0], 0);
  EXPECT_EQ(turns_of_blocks({Kind::kReverse, 0})[0], 19);
  EXPECT_EQ(turns_of_blocks({Kind::kShuffled, 1}), turns_of_blocks({Kind::kShuffled, 1}));
  EXPECT_NE(turns_of_blocks({Kind::kShuffled, 1}), turns_of_blocks({Kind::kShuffled, 2}));
  EXPECT_NE(turns_of_blocks({Kind::kShuffled, 1}), turns_of_blocks({Kind::kForward, 0}));
}

// ---- Barriers

struct Places {
  float values[96];
};

template <bool kHasBarrier>
GPU_KERNEL(96)
void turn_around(float* values) {
  Places& places = shared<Places>();
  const uint32_t own = thread_index().x;
  places.values[own] = values[own];
  if (kHasBarrier) sync_block();
  values[own] = places.values[95 - own];
}

template <bool kHasBarrier>
int32_t misplaced_count(void* stream) {
  std::vector<float> values(96);
  for (size_t i = 0; i < 96; ++i) values[i] = static_cast<float>(i);
  launch<turn_around<kHasBarrier>>({.block = {96}, .shared_bytes = sizeof(Places), .stream = stream}, values.data());
  int32_t misplaced = 0;
  for (size_t i = 0; i < 96; ++i) misplaced += values[i] == static_cast<float>(95 - i) ? 0 : 1;
  return misplaced;
}

TEST_P(SimtBlock, ShowsEachThreadWhatAllWroteBeforeTheBarrier) {
  EXPECT_EQ(misplaced_count<true>(stream()), 0);
}

TEST_P(SimtBlock, ShowsThatABarrierIsMissing) {
  EXPECT_GT(misplaced_count<false>(stream()), 0);
}

// A warp that overwrites what another may not have read yet: wrong in the orders in which the writer goes first.
template <bool kHasBarrier>
GPU_KERNEL(64)
void reuse(float* values) {
  float& place = shared<float>();
  if (thread_index().x == 0) place = 1.0F;
  sync_block();
  values[thread_index().x] = place;
  if (kHasBarrier) sync_block();
  if (thread_index().x == 63) place = 2.0F;
}

template <bool kHasBarrier>
bool reads_right_in_all_orders() {
  bool is_right = true;
  for (const simt::Order order : simt::all_orders()) {
    simt::Stream stream{order};
    std::vector<float> values(64);
    launch<reuse<kHasBarrier>>({.block = {64}, .shared_bytes = sizeof(float), .stream = &stream}, values.data());
    is_right = is_right && values == std::vector<float>(64, 1.0F);
  }
  return is_right;
}

TEST(SimtOrder, ShowsAnOverwriteThatABarrierWouldPrevent) {
  EXPECT_TRUE(reads_right_in_all_orders<true>());
  EXPECT_FALSE(reads_right_in_all_orders<false>());
}

GPU_KERNEL(64) void return_early(int32_t* through) {
  if (thread_index().x % 3 == 0) return;
  sync_block();
  sync_block();
  ++*through;
}

TEST_P(SimtBlock, DoesNotWaitForThreadsThatReturned) {
  int32_t through = 0;
  launch<return_early>({.grid = {3}, .block = {64}, .stream = stream()}, &through);
  EXPECT_EQ(through, 3 * 42);
}

GPU_KERNEL(64) void diverge() {
  if (thread_index().x == 40) {
    sync_block(111);
  } else {
    sync_block(222);
  }
}

TEST_P(SimtBlockDeathTest, RefusesBarriersAtDifferentLines) {
  EXPECT_DEATH(
      launch<diverge>({.grid = {2}, .block = {64}, .stream = stream()}),
      "divergent barrier: thread \\([0-9]+, 0, 0\\) waits at line (111|222), thread \\([0-9]+, 0, 0\\) at line "
      "(111|222); .*of block \\([01], 0, 0\\) at .*diverge");
}

// ---- The grid

GPU_KERNEL(32) void do_nothing() {}

TEST(SimtLaunchDeathTest, RefusesWhatADeviceCannotLaunch) {
  EXPECT_DEATH(launch<do_nothing>({.grid = {0}, .block = {32}}), "a grid without blocks at .*do_nothing");
  EXPECT_DEATH(launch<do_nothing>({.grid = {0x80000000U}, .block = {32}}), "a grid over");
  EXPECT_DEATH(launch<do_nothing>({.grid = {1, 65536}, .block = {32}}), "a grid over");
  EXPECT_DEATH(launch<do_nothing>({.grid = {1, 1, 65536}, .block = {32}}), "a grid over");
  EXPECT_DEATH(launch<do_nothing>({.block = {32, 0}}), "a block without threads");
  EXPECT_DEATH(launch<do_nothing>({.block = {1025}}), "a block over 1024 threads");
  EXPECT_DEATH(launch<do_nothing>({.block = {64, 64}}), "a block over 1024 threads");
  EXPECT_DEATH(launch<do_nothing>({.block = {1, 1, 65}}), "a block over 1024 threads");
  EXPECT_DEATH(launch<do_nothing>({.block = {32}, .shared_bytes = 99 * 1024 + 1}), "shared memory over the 99 KiB");
}

TEST(SimtLaunch, TakesTheLargestBlock) {
  EXPECT_EQ(launch<do_nothing>({.block = {1024}, .shared_bytes = 99 * 1024}), 0);
}

template <bool kWaits>
GPU_KERNEL(32)
void overlap(int32_t* count) {
  if (kWaits) wait_for_previous_kernel();
  start_next_kernel();
  ++*count;
}

TEST(SimtLaunch, RunsAKernelThatOverlapsItsNeighbours) {
  int32_t count = 0;
  launch<overlap<true>>({.block = {32}, .overlaps_previous = true}, &count);
  EXPECT_EQ(count, 32);
}

TEST(SimtLaunchDeathTest, RefusesToStartTheNextKernelBeforeWaitingForThePrevious) {
  int32_t count = 0;
  EXPECT_DEATH(launch<overlap<false>>({.block = {32}}, &count), "start_next_kernel before wait_for_previous_kernel");
}

/// As one that was written for launches without overlap; or only in threads that have no work.
GPU_KERNEL(32) void wait_in(uint32_t thread, int32_t* count) {
  if (thread_index().x == thread) wait_for_previous_kernel();
  ++*count;
}

TEST(SimtLaunchDeathTest, RefusesToOverlapAKernelWithOneThatDoesNotWait) {
  int32_t count = 0;
  EXPECT_DEATH(launch<wait_in>({.block = {32}, .overlaps_previous = true}, 32U, &count),
               "overlaps the kernel before it and doesn't wait for it.*wait_in");
  EXPECT_EQ(launch<wait_in>({.block = {32}, .overlaps_previous = true}, 31U, &count), 0);
  EXPECT_EQ(launch<wait_in>({.block = {32}}, 32U, &count), 0);
}

GPU_KERNEL(32) void launch_another() {
  launch<do_nothing>({.block = {32}});
}

TEST(SimtLaunchDeathTest, RefusesOperationsInTheWrongPlace) {
  EXPECT_DEATH(launch<launch_another>({.block = {1}}), "a launch inside of a kernel");
  EXPECT_DEATH(thread_index(), "outside of a kernel");
}

// ---- Atomic operations and numbers

struct Totals {
  float sum = 0.5F;
  int32_t count = 7;
  uint32_t largest = 3;
  uint64_t largest_long = uint64_t{1} << 40;
};

GPU_KERNEL(64) void add_up(Totals* totals, int32_t* befores) {
  const uint32_t own = thread_index().x;
  atomic_add(&totals->sum, 2.0F);
  befores[own] = atomic_add(&totals->count, 1);
  atomic_max(&totals->largest, own);
  atomic_max(&totals->largest_long, (uint64_t{own} << 36));
}

TEST_P(SimtBlock, AddsAndComparesAtomically) {
  Totals totals;
  std::vector<int32_t> befores(64);
  launch<add_up>({.block = {64}, .stream = stream()}, &totals, befores.data());
  EXPECT_EQ(totals.sum, 128.5F);
  EXPECT_EQ(totals.count, 71);
  EXPECT_EQ(totals.largest, 63U);
  EXPECT_EQ(totals.largest_long, uint64_t{63} << 36);
  std::sort(befores.begin(), befores.end());
  for (int32_t i = 0; i < 64; ++i) EXPECT_EQ(befores[static_cast<size_t>(i)], 7 + i);
}

TEST(SimtMath, IsThatOfTheStandardLibrary) {
  EXPECT_EQ(exp2(3.0F), 8.0F);
  EXPECT_FLOAT_EQ(exp(1.0F), 2.7182818F);
  EXPECT_FLOAT_EQ(log(10.0F), 2.3025851F);
  EXPECT_FLOAT_EQ(tanh(0.5F), 0.46211716F);
  EXPECT_EQ(rsqrt(16.0F), 0.25F);
  const float almost_one = 1.0F + 0x1p-12F;
  EXPECT_EQ(fma(almost_one, almost_one, -1.0F), 0x1p-11F + 0x1p-24F);
}

}  // namespace
}  // namespace sluice::gpu
