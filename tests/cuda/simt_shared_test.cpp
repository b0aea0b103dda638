#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/gpu.h"
#include "tests/cuda/gpu_orders.h"

namespace sluice::gpu {
namespace {

struct Row {
  float values[4];
};

struct alignas(16) Rows {
  Row rows[32];
};

GPU_KERNEL(32) void read_before_writing(float* value) {
  *value = shared<float>();
  shared<float>() = 1.0F;
}

TEST(SimtShared, IsNotANumberUntilItIsWrittenInEachBlock) {
  float value = 0.0F;
  launch<read_before_writing>({.grid = {2}, .block = {1}, .shared_bytes = 4}, &value);
  EXPECT_TRUE(std::isnan(value));
}

GPU_KERNEL(32) void write_at(int32_t place) {
  (&shared<char>())[place] = 1;
}

GPU_KERNEL(32) void take_rows() {
  shared<Rows>();
}

TEST(SimtSharedDeathTest, RefusesWhatLiesBehindItsEnd) {
  launch<write_at>({.block = {1}, .shared_bytes = 13}, 12);
  EXPECT_DEATH(launch<write_at>({.block = {1}, .shared_bytes = 13}, 13),
               "wrote behind the end of shared memory|use-after-poison");
  EXPECT_DEATH(launch<take_rows>({.block = {1}, .shared_bytes = sizeof(Rows) - 1}),
               "shared memory of 512 bytes in a launch with 511");
}

// ---- Wide accesses

struct alignas(16) Wide {
  float values[4];
};

GPU_KERNEL(1) void read_wide(const float* from, float* to) {
  *to = as_one<const Wide>(from).values[3];
}

GPU_KERNEL(1) void write_wide_shared(int32_t place) {
  as_one<Wide>(&shared<Rows>().rows[0].values[0] + place) = {};
}

TEST(SimtWideDeathTest, RefusesAddressesThatOneInstructionCannotTake) {
  alignas(16) const float from[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  float to = 0;
  launch<read_wide>({.block = {1}}, from + 4, &to);
  EXPECT_EQ(to, 7.0F);
  for (const int32_t off : {1, 2, 3}) {
    EXPECT_DEATH(launch<read_wide>({.block = {1}}, from + off, &to),
                 "an address that is not a multiple of the 16 bytes that one instruction moves.*read_wide");
  }
  const Launch how{.block = {1}, .shared_bytes = sizeof(Rows)};
  launch<write_wide_shared>(how, 4);
  EXPECT_DEATH(launch<write_wide_shared>(how, 6), "not a multiple of the 16 bytes");
}

// ---- Asynchronous copies

class SimtCopy : public OrderedTest {};
INSTANTIATE_TEST_SUITE_P(Orders, SimtCopy, testing::ValuesIn(simt::all_orders()), order_name);

std::vector<Row> numbered_rows() {
  std::vector<Row> rows(32);
  for (size_t i = 0; i < 32; ++i)
    for (size_t k = 0; k < 4; ++k) rows[i].values[k] = static_cast<float>(4 * i + k);
  return rows;
}

GPU_KERNEL(32) void copy_rows(const Row* from, Row* to) {
  Rows& rows = shared<Rows>();
  copy_async(&rows.rows[lane()], &from[lane()], (lane() % 5) * 4);
  copy_async_commit();
  copy_async_wait<0>();
  sync_warp();
  to[lane()] = rows.rows[31 - lane()];
}

TEST_P(SimtCopy, SetsToZeroWhatItDoesNotRead) {
  alignas(16) Row from[32];
  const std::vector<Row> numbered = numbered_rows();
  std::copy(numbered.begin(), numbered.end(), from);
  std::vector<Row> to(32);
  launch<copy_rows>({.block = {32}, .shared_bytes = sizeof(Rows), .stream = stream()}, from, to.data());
  for (size_t i = 0; i < 32; ++i)
    for (size_t k = 0; k < 4; ++k) {
      const size_t source = 31 - i;
      EXPECT_EQ(to[i].values[k], k < source % 5 ? from[source].values[k] : 0.0F);
    }
}

/// Three groups of one copy each and a copy that is not committed; waits for all but kGroups.
template <int32_t kGroups>
GPU_KERNEL(1)
void copy_groups(const Row* from, Row* to, int32_t count) {
  Rows& rows = shared<Rows>();
  for (int32_t i = 0; i < 4; ++i) {
    rows.rows[i] = {{0.5F}};
    copy_async(&rows.rows[i], &from[i]);
    if (i < 3) copy_async_commit();
  }
  copy_async_wait<kGroups>();
  for (int32_t i = 0; i < count; ++i) to[i] = rows.rows[i];
}

template <int32_t kGroups>
std::vector<Row> copied(int32_t count) {
  alignas(16) Row from[4] = {{{1.0F}}, {{2.0F}}, {{3.0F}}, {{4.0F}}};
  std::vector<Row> to(4);
  launch<copy_groups<kGroups>>({.block = {1}, .shared_bytes = sizeof(Rows)}, from, to.data(), count);
  return to;
}

TEST(SimtCopyGroups, WaitsForAllGroupsButTheLatest) {
  EXPECT_EQ(copied<0>(3)[2].values[0], 3.0F);
  EXPECT_EQ(copied<1>(2)[1].values[0], 2.0F);
  EXPECT_EQ(copied<2>(1)[0].values[0], 1.0F);
}

// AddressSanitizer stops the read itself; without it the bytes are NaNs.
template <int32_t kGroups>
void expect_number(int32_t count) {
  if (!std::isnan(copied<kGroups>(count)[static_cast<size_t>(count - 1)].values[0])) return;
  std::fputs("use of NaN\n", stderr);
  std::abort();
}

TEST(SimtCopyDeathTest, ShowsNoBytesBeforeTheirGroupIsWaitedFor) {
  constexpr const char* kRefused = "use of NaN|use-after-poison";
  EXPECT_DEATH(expect_number<0>(4), kRefused);
  EXPECT_DEATH(expect_number<1>(3), kRefused);
  EXPECT_DEATH(expect_number<2>(2), kRefused);
  EXPECT_DEATH(expect_number<3>(1), kRefused);
}

GPU_KERNEL(1) void copy_bytes(const char* from, int32_t to, int32_t bytes) {
  copy_async(&shared<char>() + to, from, bytes);
}

TEST(SimtCopyDeathTest, RefusesAddressesAndSizesThatADeviceCannotCopy) {
  alignas(16) const char from[32] = {};
  const Launch how{.block = {1}, .shared_bytes = 32};
  launch<copy_bytes>(how, from, 16, 16);
  EXPECT_DEATH(launch<copy_bytes>(how, from + 8, 0, 16), "copy_async with an address that is not a multiple of 16");
  EXPECT_DEATH(launch<copy_bytes>(how, from, 8, 16), "copy_async with an address that is not a multiple of 16");
  EXPECT_DEATH(launch<copy_bytes>(how, from, 0, 17), "copy_async of 17 bytes");
  EXPECT_DEATH(launch<copy_bytes>(how, from, 0, -1), "copy_async of -1 bytes");
  EXPECT_DEATH(launch<copy_bytes>(how, from, 32, 16), "copy_async to outside of shared memory");
}

GPU_KERNEL(1) void copy_within_shared() {
  copy_async(&shared<char>(), &shared<char>() + 16);
}

TEST(SimtCopyDeathTest, RefusesToCopyFromSharedMemory) {
  EXPECT_DEATH(launch<copy_within_shared>({.block = {1}, .shared_bytes = 32}), "copy_async from shared memory");
}

GPU_KERNEL(1) void leave_copy_under_way(const Row* from, float* value) {
  Rows& rows = shared<Rows>();
  *value = rows.rows[0].values[0];
  copy_async(&rows.rows[0], from);
  copy_async_commit();
}

TEST(SimtCopyGroups, LeavesNothingUnderWayForTheNextBlock) {
  alignas(16) const Row from{{1.0F}};
  float value = 0.0F;
  launch<leave_copy_under_way>({.grid = {2}, .block = {1}, .shared_bytes = sizeof(Rows)}, &from, &value);
  EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace sluice::gpu
