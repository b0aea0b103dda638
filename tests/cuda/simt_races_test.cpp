#include "engine/cuda/simt/simt_races.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "engine/cuda/gpu.h"
#include "tests/cuda/gpu_orders.h"

// This file is compiled with -fsanitize=thread, so that reads and writes of its kernels are seen (CMakeLists.txt).
namespace sluice::gpu {
namespace {

/// What a thread does with shared memory before and after something that orders it, or doesn't.
enum class Between { kNothing, kBlock, kWarp, kHalfWarp, kShuffle };

template <Between kBetween>
GPU_DEVICE void pass() {
  if constexpr (kBetween == Between::kBlock) sync_block();
  if constexpr (kBetween == Between::kWarp) sync_warp();
  if constexpr (kBetween == Between::kHalfWarp) sync_warp(lane() < 16 ? 0x0000FFFFU : 0xFFFF0000U);
  if constexpr (kBetween == Between::kShuffle) shuffle_xor(lane(), 1);
}

struct Places {
  int32_t values[64];
};

template <Between kBetween>
GPU_KERNEL(64)
void write_then_read(int32_t distance, int32_t* sum) {
  Places& places = shared<Places>();
  const auto own = static_cast<int32_t>(thread_index().x);
  places.values[own] = own;
  pass<kBetween>();
  atomic_add(sum, places.values[own ^ distance]);
}

template <Between kBetween>
GPU_KERNEL(64)
void read_then_write(int32_t distance, int32_t* sum) {
  Places& places = shared<Places>();
  const auto own = static_cast<int32_t>(thread_index().x);
  places.values[own] = own;
  sync_block();
  atomic_add(sum, places.values[own ^ distance]);
  pass<kBetween>();
  places.values[own] = -1;
}

template <Between kBetween>
GPU_KERNEL(64)
void write_then_write(int32_t distance, int32_t* sum) {
  Places& places = shared<Places>();
  const auto own = static_cast<int32_t>(thread_index().x);
  places.values[own] = own;
  pass<kBetween>();
  places.values[own ^ distance] = own;
  sync_block();
  atomic_add(sum, places.values[own]);
}

/// What a launch makes of it, over two blocks, which use the same memory one after the other.
template <auto kKernel>
int32_t sum_of(int32_t distance, void* stream) {
  int32_t sum = 0;
  launch<kKernel>({.grid = {2}, .block = {64}, .shared_bytes = sizeof(Places), .stream = stream}, distance, &sum);
  return sum;
}

class SimtRaces : public OrderedTest {};
INSTANTIATE_TEST_SUITE_P(Orders, SimtRaces, testing::ValuesIn(simt::all_orders()), order_name);

using SimtRacesDeathTest = SimtRaces;
INSTANTIATE_TEST_SUITE_P(Orders, SimtRacesDeathTest, testing::ValuesIn(simt::all_orders()), order_name);

constexpr int32_t kOtherWarp = 32;
constexpr int32_t kOtherHalf = 16;
constexpr int32_t kNeighbour = 1;
constexpr int32_t kSum = 2 * 63 * 64 / 2;

TEST_P(SimtRaces, AreNoneWithABarrierBetween) {
  EXPECT_EQ(sum_of<write_then_read<Between::kBlock>>(kOtherWarp, stream()), kSum);
  EXPECT_EQ(sum_of<read_then_write<Between::kBlock>>(kOtherWarp, stream()), kSum);
  EXPECT_EQ(sum_of<write_then_write<Between::kBlock>>(kOtherWarp, stream()), kSum);
}

TEST_P(SimtRaces, AreNoneWithinLanesThatMeet) {
  EXPECT_EQ(sum_of<write_then_read<Between::kWarp>>(kOtherHalf, stream()), kSum);
  EXPECT_EQ(sum_of<read_then_write<Between::kWarp>>(kOtherHalf, stream()), kSum);
  EXPECT_EQ(sum_of<write_then_write<Between::kHalfWarp>>(kNeighbour, stream()), kSum);
}

TEST_P(SimtRaces, AreNoneInWhatAThreadHasForItself) {
  EXPECT_EQ(sum_of<write_then_read<Between::kNothing>>(0, stream()), kSum);
}

// Which of the two comes first is the order's business.
constexpr const char* kRace =
    "race in shared memory at byte [0-9]+: thread \\([0-9]+, 0, 0\\) has (written|read) what thread \\([0-9]+, 0, "
    "0\\) (writes|reads) without a barrier between; .* at .*_then_";

TEST_P(SimtRacesDeathTest, AreFoundBetweenWarps) {
  EXPECT_DEATH(sum_of<write_then_read<Between::kNothing>>(kOtherWarp, stream()), kRace);
  // Each warp meets, but not with the other.
  EXPECT_DEATH(sum_of<write_then_read<Between::kWarp>>(kOtherWarp, stream()), kRace);
  EXPECT_DEATH(sum_of<read_then_write<Between::kNothing>>(kOtherWarp, stream()), kRace);
  EXPECT_DEATH(sum_of<write_then_write<Between::kWarp>>(kOtherWarp, stream()), "has written what .* writes");
}

TEST_P(SimtRacesDeathTest, AreFoundWithinAWarp) {
  EXPECT_DEATH(sum_of<write_then_read<Between::kNothing>>(kNeighbour, stream()), kRace);
  EXPECT_DEATH(sum_of<write_then_read<Between::kShuffle>>(kNeighbour, stream()), kRace);
  EXPECT_DEATH(sum_of<write_then_read<Between::kHalfWarp>>(kOtherHalf, stream()), kRace);
  EXPECT_DEATH(sum_of<read_then_write<Between::kNothing>>(kNeighbour, stream()), kRace);
  EXPECT_DEATH(sum_of<write_then_write<Between::kNothing>>(kNeighbour, stream()), "has written what .* writes");
}

/// Neighbours in one word.
GPU_KERNEL(64) void write_bytes(int32_t* sum) {
  auto& bytes = shared<uint8_t[64]>();
  const uint32_t own = thread_index().x;
  bytes[own] = static_cast<uint8_t>(own);
  sync_block();
  atomic_add(sum, bytes[63 - own]);
}

TEST_P(SimtRaces, AreNoneBetweenNeighboursOfAWord) {
  int32_t sum = 0;
  launch<write_bytes>({.block = {64}, .shared_bytes = 64, .stream = stream()}, &sum);
  EXPECT_EQ(sum, kSum / 2);
}

GPU_KERNEL(64) void count_atomically(int32_t* total) {
  int32_t& count = shared<int32_t>();
  if (thread_index().x == 0) count = 0;
  sync_block();
  atomic_add(&count, 1);
  sync_block();
  if (thread_index().x == 63) *total = count;
}

TEST_P(SimtRaces, AreNoneBetweenAtomicAccesses) {
  int32_t total = 0;
  launch<count_atomically>({.block = {64}, .shared_bytes = 4, .stream = stream()}, &total);
  EXPECT_EQ(total, 64);
}

GPU_KERNEL(64) void return_before_others_write(int32_t* sum) {
  int32_t& place = shared<int32_t>();
  if (thread_index().x == 0) {
    place = 1;
    return;
  }
  sync_block();
  if (thread_index().x == 33) place = 2;
  sync_block();
  atomic_add(sum, place);
}

TEST_P(SimtRaces, AreNoneWithThreadsThatReturnedBeforeABarrier) {
  int32_t sum = 0;
  launch<return_before_others_write>({.block = {64}, .shared_bytes = 4, .stream = stream()}, &sum);
  EXPECT_EQ(sum, 126);
}

/// The other warp loads as matrices what one has copied and waited for.
template <bool kHasBarrier>
GPU_KERNEL(64)
void copy_then_load(const uint32_t* from, uint32_t* to) {
  auto& rows = shared<uint32_t[32][4]>();
  if (warp() == 0) copy_async(rows[lane()], from + 4 * lane());
  copy_async_commit();
  copy_async_wait<0>();
  if (kHasBarrier) sync_block();
  uint32_t loaded[4] = {};
  if (warp() == 1) load_matrices(loaded, rows[lane()]);
  if (warp() == 1) to[lane()] = loaded[3];
}

template <bool kHasBarrier>
uint32_t load_what_was_copied(void* stream) {
  alignas(16) uint32_t from[128];
  for (uint32_t i = 0; i < 128; ++i) from[i] = i;
  uint32_t to[32] = {};
  launch<copy_then_load<kHasBarrier>>({.block = {64}, .shared_bytes = sizeof(from), .stream = stream},
                                      static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to));
  return to[31];
}

TEST_P(SimtRacesDeathTest, AreFoundBetweenCopiesAndLoadsOfMatrices) {
  EXPECT_EQ(load_what_was_copied<true>(stream()), 127U);
  EXPECT_DEATH(load_what_was_copied<false>(stream()), "race in shared memory at byte");
}

/// A copy into what another warp may still read.
template <bool kHasBarrier>
GPU_KERNEL(64)
void read_then_copy(const uint32_t* from, uint32_t* to) {
  auto& words = shared<uint32_t[4]>();
  if (thread_index().x == 0) words[0] = 5;
  sync_block();
  to[thread_index().x] = words[0];
  if (kHasBarrier) sync_block();
  if (thread_index().x == 63) copy_async(words, from);
  copy_async_commit();
  copy_async_wait<0>();
}

TEST_P(SimtRacesDeathTest, AreFoundFromTheBeginningOfACopy) {
  alignas(16) const uint32_t from[4] = {};
  uint32_t to[64] = {};
  const Launch how{.block = {64}, .shared_bytes = sizeof(from), .stream = stream()};
  launch<read_then_copy<true>>(how, static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to));
  EXPECT_EQ(to[7], 5U);
  EXPECT_DEATH(launch<read_then_copy<false>>(how, static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to)),
               "race in shared memory at byte 0");
}

TEST(RaceDetector, KeepsAReaderOfAnotherWarp) {
  simt::RaceDetector races(16, 96);
  races.meet_block();
  EXPECT_FALSE(races.note(40, 4, 4, false));
  EXPECT_FALSE(races.note(3, 4, 4, false));
  EXPECT_FALSE(races.note(5, 4, 4, false));
  // Thread 5 itself writes: the reader of the other warp is still known.
  races.meet_warp(0, kFullMask);
  const auto race = races.note(5, 4, 4, true);
  ASSERT_TRUE(race);
  EXPECT_FALSE(race->wrote_earlier);
  EXPECT_EQ(race->earlier, 40U);
  EXPECT_EQ(race->offset, 4U);
}

TEST(RaceDetector, TellsTheWordWithinAWideAccess) {
  simt::RaceDetector races(64, 32);
  races.meet_block();
  EXPECT_FALSE(races.note(0, 30, 1, true));
  EXPECT_FALSE(races.note(1, 16, 14, false));
  EXPECT_FALSE(races.note(1, 31, 1, false));
  const auto race = races.note(1, 16, 16, false);
  ASSERT_TRUE(race);
  EXPECT_EQ(race->offset, 28U);
  races.meet_block();
  EXPECT_FALSE(races.note(1, 16, 16, true));
}

// What a lane knows of others it tells on.
TEST(RaceDetector, OrdersLanesThatMeetByWayOfOthers) {
  simt::RaceDetector races(4, 32);
  races.meet_block();
  EXPECT_FALSE(races.note(0, 0, 4, true));
  races.meet_warp(0, 0x3U);
  EXPECT_TRUE(races.note(2, 0, 4, false));
  races.meet_warp(0, 0x6U);
  EXPECT_FALSE(races.note(2, 0, 4, true));
  EXPECT_TRUE(races.note(1, 0, 4, false));
}

}  // namespace
}  // namespace sluice::gpu
