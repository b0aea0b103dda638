#include "server/cache_size.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kBlocks = 100;  // that the memory has room for

/// Of blocks of 1 MiB each.
engine::KvLayout layout() {
  engine::ModelConfig model;
  model.layer_count = 16;
  model.kv_head_count = 8;
  model.head_dim = 128;
  engine::KvLayout layout = engine::KvLayout::for_model(model, 16, engine::KvType::kF16, 16);
  EXPECT_EQ(layout.block_bytes(), kMiB);
  return layout;
}

Result<int32_t> blocks(const std::string& memory, bool is_own, int64_t available = kBlocks * kMiB) {
  KvSection section;
  section.memory = memory;
  return cache_block_count(section, layout(), {.available = available, .is_own = is_own});
}

TEST(CacheSize, AutoIsAQuarterOfTheMachineAndMostOfADevice) {
  EXPECT_EQ(blocks("auto", false).value(), 25);
  EXPECT_EQ(blocks("auto", true).value(), 90);
}

TEST(CacheSize, WhatIsAskedForIsTheSameWherever) {
  for (const bool is_own : {false, true}) {
    EXPECT_EQ(blocks("50%", is_own).value(), 50);
    EXPECT_EQ(blocks("7MiB", is_own).value(), 7);
  }
}

TEST(CacheSize, AllThatIsThereIsGivenAndNoByteMore) {
  const std::string all = std::to_string(kBlocks * kMiB);
  EXPECT_EQ(blocks(all, false).value(), 100);
  EXPECT_EQ(blocks("100%", true).value(), 100);
  const Status status = blocks(std::to_string(kBlocks * kMiB + 1), true).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.field(), "kv.memory");
  EXPECT_EQ(status.message(), "kv.memory asks for 100 MiB, but only 100 MiB are free beside the model; ask for less");
}

TEST(CacheSize, TooLittleForABlockOrTwoNamesTheKeyAndTheMemoryItWouldTake) {
  EXPECT_EQ(blocks("auto", false, 8 * kMiB).value(), 2);
  const Status status = blocks("auto", false, 8 * kMiB - 4).status();
  EXPECT_EQ(status.field(), "kv.memory");
  EXPECT_THAT(status.message(), HasSubstr("set it to 2097152 bytes or more"));
  EXPECT_FALSE(blocks("auto", true, 0).ok());
}

}  // namespace
}  // namespace sluice::server
