#include "kvcache/pool_size.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::kvcache {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kAvailable = 1'000'000;

int64_t bytes_of(const char* text) {
  const Result<int64_t> bytes = parse_memory(text, kAvailable);
  EXPECT_TRUE(bytes.ok()) << text << ": " << bytes.status();
  return bytes.ok() ? *bytes : -1;
}

TEST(PoolSize, RefusesMemoryThatIsNoAmount) {
  for (const char* text :
       {"",   " ",      "x",    "MiB",  "%",    "12 MiB", "12mib", "12MB", "12KiB", "-1",     "-1MiB", "-5%",
        "0%", "100.1%", "nan%", "inf%", "0.25", "1.5GiB", "+5",    "0x10", "5%%",   "10%MiB", " 5"}) {
    const Result<int64_t> bytes = parse_memory(text, kAvailable);
    ASSERT_FALSE(bytes.ok()) << text << " gave " << *bytes;
    EXPECT_EQ(bytes.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(bytes.status().field(), "kv.memory");
    EXPECT_THAT(bytes.status().message(), HasSubstr("\"" + std::string(text) + "\""));
  }
}

TEST(PoolSize, ReadsBytesUnitsAndShares) {
  EXPECT_EQ(bytes_of("0"), 0);
  EXPECT_EQ(bytes_of("1073741824"), int64_t{1} << 30);
  EXPECT_EQ(bytes_of("512MiB"), int64_t{512} << 20);
  EXPECT_EQ(bytes_of("2GiB"), int64_t{2} << 30);
  EXPECT_EQ(bytes_of("25%"), 250'000);
  EXPECT_EQ(bytes_of("12.5%"), 125'000);
  EXPECT_EQ(bytes_of("100%"), kAvailable);
}

TEST(PoolSize, RefusesAmountsBeyond63Bits) {
  EXPECT_EQ(bytes_of("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(bytes_of("8589934591GiB"), int64_t{8589934591} << 30);
  for (const char* text : {"9223372036854775808", "8589934592GiB", "8796093022208MiB"}) {
    EXPECT_FALSE(parse_memory(text, kAvailable).ok()) << text;
  }
}

engine::KvLayout layout_of(int32_t block_size) {
  return {.groups = engine::LayerGroups::one_group(2),
          .kv_head_count = 3,
          .head_dim = 8,
          .block_size = block_size,
          .type = engine::KvType::kF16};
}

TEST(B22_NeverFits, c_PoolOfZeroOrOneBlocksIsRefusedAtStart) {
  const engine::KvLayout layout = layout_of(16);
  const int64_t block_bytes = layout.block_bytes();
  ASSERT_EQ(block_bytes, 2 * 2 * 3 * 8 * 16 * 2);
  for (const int64_t bytes : {int64_t{0}, block_bytes - 1, block_bytes, 2 * block_bytes - 1}) {
    const Result<int32_t> count = block_count_for(layout, bytes);
    ASSERT_FALSE(count.ok()) << bytes;
    EXPECT_EQ(count.status().field(), "kv.memory");
    const std::string message = count.status().message();
    EXPECT_THAT(message,
                HasSubstr("of " + std::to_string(bytes) + " bytes holds " + std::to_string(bytes / block_bytes)));
    EXPECT_THAT(message, HasSubstr("at least 2 are needed"));
    EXPECT_THAT(message, HasSubstr("set it to " + std::to_string(2 * block_bytes) + " bytes or more"));
  }
}

TEST(PoolSize, CountsWholeBlocks) {
  const engine::KvLayout layout = layout_of(16);
  const int64_t block_bytes = layout.block_bytes();
  EXPECT_EQ(block_count_for(layout, 2 * block_bytes).value(), 2);
  EXPECT_EQ(block_count_for(layout, 3 * block_bytes - 1).value(), 2);
  EXPECT_EQ(block_count_for(layout, 1000 * block_bytes).value(), 1000);
}

TEST(PoolSize, DemandsTheGivenMinimum) {
  const engine::KvLayout layout = layout_of(16);
  const int64_t block_bytes = layout.block_bytes();
  EXPECT_FALSE(block_count_for(layout, 8 * block_bytes, 9).ok());
  EXPECT_EQ(block_count_for(layout, 9 * block_bytes, 9).value(), 9);
}

TEST(PoolSize, DemandsAMinimumForEachGroupOfLayers) {
  engine::KvLayout layout = layout_of(16);
  layout.groups.window_groups = 5;
  layout.groups.ring_blocks = 4;
  const int64_t block_bytes = layout.block_bytes();
  const Result<int32_t> too_few = block_count_for(layout, 12 * block_bytes - 1);
  ASSERT_FALSE(too_few.ok());
  EXPECT_THAT(too_few.status().message(), HasSubstr("at least 12 are needed"));
  EXPECT_EQ(block_count_for(layout, 12 * block_bytes).value(), 12);
}

TEST(PoolSize, NeverNumbersSlotsBeyond32Bits) {
  const engine::KvLayout layout = layout_of(16);
  const int64_t most = std::numeric_limits<int32_t>::max() / 16;
  EXPECT_EQ(block_count_for(layout, most * layout.block_bytes()).value(), most);
  EXPECT_EQ(block_count_for(layout, (most + 1) * layout.block_bytes()).value(), most);
}

}  // namespace
}  // namespace sluice::kvcache
