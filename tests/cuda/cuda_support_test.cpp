#include "engine/cuda/cuda_support.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::engine::cuda {
namespace {

ModelConfig model_with(int32_t head_dim) {
  ModelConfig model;
  model.head_dim = head_dim;
  return model;
}

std::string refusal(const ModelConfig& model, KvType type, int32_t block_size) {
  return check_support(model, type, block_size).message();
}

TEST(CudaSupport, TakesWhatThereAreKernelsFor) {
  for (const int32_t head_dim : {16, 24, 32, 64, 80, 96, 128, 256}) {
    for (const KvType type : {KvType::kBf16, KvType::kF16, KvType::kFp8}) {
      EXPECT_TRUE(check_support(model_with(head_dim), type, 16).ok()) << head_dim;
    }
  }
  EXPECT_TRUE(check_support(model_with(64), KvType::kF16, 8).ok());
}

TEST(CudaSupport, TakesAsManyExpertsAsRoutingHasRoomFor) {
  ModelConfig model = model_with(64);
  model.experts = {.count = kExpertCountMax, .per_token = kExpertsPerTokenMax};
  EXPECT_EQ(refusal(model, KvType::kF16, 16), "");
  ++model.experts.count;
  EXPECT_EQ(refusal(model, KvType::kF16, 16), "513 experts can't be had on CUDA, 512 at most");
  model.experts = {.count = kExpertCountMax, .per_token = kExpertsPerTokenMax + 1};
  EXPECT_EQ(refusal(model, KvType::kF16, 16), "33 experts for a token can't be had on CUDA, 32 at most");
}

TEST(CudaSupport, TellsWhatItDoesntTake) {
  EXPECT_EQ(refusal(model_with(72), KvType::kF16, 16), "heads of 72 elements can't be had on CUDA");
  EXPECT_EQ(refusal(model_with(64), KvType::kInt8, 16), "kv.dtype int8 can't be had on CUDA; use bf16, f16 or fp8");
  EXPECT_EQ(refusal(model_with(64), KvType::kF32, 16), "kv.dtype f32 can't be had on CUDA; use bf16, f16 or fp8");
  EXPECT_EQ(refusal(model_with(64), KvType::kF16, 12), "kv.block_size 12 can't be had on CUDA; use a multiple of 8");
  ModelConfig wide = model_with(64);
  wide.width = kWidthMax;
  EXPECT_EQ(refusal(wide, KvType::kF16, 16), "");
  ++wide.width;
  EXPECT_EQ(refusal(wide, KvType::kF16, 16), "vectors of 16385 elements can't be had on CUDA, 16384 at most");
}

}  // namespace
}  // namespace sluice::engine::cuda
