#include "engine/rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;

ModelConfig model_of(int32_t heads, int32_t kv_heads, int32_t ffn_width) {
  ModelConfig model;
  model.head_count = heads;
  model.kv_head_count = kv_heads;
  model.head_dim = 64;
  model.width = 576;
  model.vocab_size = 1000;
  model.ffn_width = ffn_width;
  return model;
}

TEST(RankCount, B35_MultiGpu_a_NamesHeadsKvHeadsWhatWasAskedForAndWhatWorks) {
  const Status status = check_rank_count(model_of(9, 3, 1536), 2);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.field(), "engine.tensor_parallel");
  EXPECT_EQ(status.message(),
            "engine.tensor_parallel is 2, but the model has 9 heads, 3 KV heads and a feed-forward width of 1536; "
            "1 or 3 divide them all");
}

TEST(RankCount, MustDivideHeadsKvHeadsAndFeedForwardWidth) {
  EXPECT_TRUE(check_rank_count(model_of(8, 4, 96), 4).ok());
  EXPECT_FALSE(check_rank_count(model_of(8, 2, 96), 4).ok());
  EXPECT_FALSE(check_rank_count(model_of(8, 4, 98), 4).ok());
  EXPECT_FALSE(check_rank_count(model_of(8, 4, 96), 8).ok());
  EXPECT_THAT(check_rank_count(model_of(8, 4, 96), 8).message(), HasSubstr("; 1, 2 or 4 divide them all"));
}

TEST(RankCount, IsOneForEveryModel) {
  EXPECT_TRUE(check_rank_count(model_of(7, 1, 1), 1).ok());
  EXPECT_THAT(check_rank_count(model_of(7, 1, 96), 7).message(), HasSubstr("; only 1 divides them all"));
}

TEST(RankCount, GoesUpToWhatRanksThereMayBe) {
  EXPECT_TRUE(check_rank_count(model_of(128, 128, 128), kRanksMax).ok());
  EXPECT_THAT(check_rank_count(model_of(128, 128, 128), 3).message(), HasSubstr("; 1, 2, 4, 8, 16, 32 or 64 divide"));
}

TEST(RankCount, IsThatOfTheExpertsWhereThereAreSome) {
  ModelConfig model = model_of(8, 4, 97);
  model.experts.count = 8;
  model.experts.ffn_width = 48;
  EXPECT_TRUE(check_rank_count(model, 4).ok());
  model.experts.ffn_width = 50;
  EXPECT_THAT(check_rank_count(model, 4).message(), HasSubstr("a feed-forward width of 50; 1 or 2 divide them all"));
}

TEST(RankConfig, HasItsShareOfHeadsAndFeedForwardAndAllOfTheRest) {
  ModelConfig model = model_of(9, 3, 1536);
  model.experts.ffn_width = 1536;
  const ModelConfig part = rank_config(model, {.index = 2, .count = 3});
  EXPECT_EQ(part.head_count, 3);
  EXPECT_EQ(part.kv_head_count, 1);
  EXPECT_EQ(part.ffn_width, 512);
  EXPECT_EQ(part.experts.ffn_width, 512);
  EXPECT_EQ(part.width, 576);
  EXPECT_EQ(part.head_dim, 64);
  EXPECT_EQ(part.vocab_size, 1000);
}

}  // namespace
}  // namespace sluice::engine
