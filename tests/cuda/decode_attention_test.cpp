#include <algorithm>

#include <gtest/gtest.h>

#include "engine/cuda/kernels/attention_launch.cuh"
#include "kernel_stream.h"
#include "tests/cuda/attention_case.h"

namespace sluice::engine::cuda {
namespace {

using gpu::Bf16;
using gpu::Fp8;
using gpu::Half;

constexpr SplitLimits kWhole{.keys_min = 1 << 20, .splits_max = 1};
constexpr SplitLimits kParts{.keys_min = 64, .splits_max = 4};
constexpr double kFloatError = 2e-5;
// Of the weights in bf16: 2^-9 of values of up to 4.
constexpr double kMmaError = 8e-3;

int32_t longest_context(const AttentionSpec& spec) {
  int32_t longest = 1;
  for (const RowSpec& row : spec.rows) longest = std::max(longest, row.context);
  return longest;
}

template <int32_t kHeadDim, typename Query, typename Element, typename Out>
std::vector<float> decode(const AttentionCase& of, SplitLimits limits, gpu::KernelOrder order = {},
                          int32_t spare_splits = 0) {
  DeviceArray<Query> queries(of.queries);
  CachedCase<Element> cached(of);
  DeviceArray<Out> out(of.queries.size(), gpu::from_float<Out>(std::nanf("")));
  const int32_t splits = plan_splits(longest_context(of.spec), of.spec.window, limits) + spare_splits;
  const int64_t floats = workspace_floats(of.tokens(), splits, of.spec.heads(), kHeadDim);
  DeviceArray<float> workspace(static_cast<size_t>(floats), std::nanf(""));
  gpu::KernelStream stream(order);
  const DecodeArguments<Query, Element, Out> arguments{{queries.data(), int64_t{of.spec.heads()} * kHeadDim},
                                                       cached.cache(),
                                                       rows_of(of),
                                                       shape_of(of),
                                                       limits,
                                                       out.data(),
                                                       workspace.data()};
  EXPECT_EQ(launch_decode_attention<kHeadDim>(arguments, {.rows = of.rows(), .stream = stream.get()}, splits), 0);
  return out.floats();
}

/// Compares in whole and in parts.
template <int32_t kHeadDim, typename Query, typename Element>
void expect_reference(AttentionSpec spec, double error) {
  spec.head_dim = kHeadDim;
  const AttentionCase of = make_case_of<Query, Element>(spec);
  const std::vector<double> wanted = attention_reference(of);
  EXPECT_LE(distance((decode<kHeadDim, Query, Element, float>(of, kWhole)), wanted), error) << "whole";
  EXPECT_LE(distance((decode<kHeadDim, Query, Element, float>(of, kParts)), wanted), error) << "in parts";
}

AttentionSpec ragged(int32_t kv_heads, int32_t group, int32_t window = 0) {
  return {.rows = {{1}, {15}, {16}, {17}, {64}, {65}, {130}, {300, 1, 7}},
          .kv_heads = kv_heads,
          .group = group,
          .window = window};
}

TEST(DecodeAttention, MatchesReferenceForEveryGroup) {
  expect_reference<64, Bf16, Bf16>(ragged(2, 1), kFloatError);
  expect_reference<64, Bf16, Bf16>(ragged(2, 2), kFloatError);
  expect_reference<64, Bf16, Bf16>(ragged(2, 3), kFloatError);
  expect_reference<64, float, float>(ragged(1, 4), kFloatError);
  expect_reference<64, float, float>(ragged(1, 8), kFloatError);
  expect_reference<64, float, float>(ragged(1, 11), kFloatError);
}

TEST(DecodeAttention, MatchesReferenceForEveryHeadSize) {
  expect_reference<8, float, float>(ragged(2, 1), kFloatError);
  expect_reference<40, float, Bf16>(ragged(1, 4), kFloatError);
  expect_reference<80, Bf16, Bf16>(ragged(2, 1), kFloatError);
  expect_reference<96, Bf16, Bf16>(ragged(1, 3), kFloatError);
  expect_reference<128, Bf16, Bf16>(ragged(1, 1), kFloatError);
  expect_reference<256, Bf16, Bf16>(ragged(1, 3), kFloatError);
  expect_reference<256, float, float>(ragged(1, 1), kFloatError);
}

TEST(DecodeAttention, ReadsEveryKindOfCache) {
  expect_reference<64, Bf16, Half>(ragged(2, 3), kFloatError);
  expect_reference<64, Bf16, Fp8>(ragged(2, 3), kFloatError);
  expect_reference<72, float, Fp8>(ragged(2, 1), kFloatError);
}

TEST(DecodeAttention, MatchesReferenceByMatrixProducts) {
  expect_reference<64, Bf16, Bf16>(ragged(2, 4), kMmaError);
  expect_reference<80, Bf16, Bf16>(ragged(1, 8), kMmaError);
  expect_reference<96, Bf16, Bf16>(ragged(1, 5), kMmaError);
  expect_reference<128, Bf16, Bf16>(ragged(2, 16), kMmaError);
  expect_reference<256, Bf16, Bf16>(ragged(1, 4), kMmaError);
}

TEST(DecodeAttention, LooksNoFurtherBackThanItsWindow) {
  for (const int32_t window : {1, 16, 17, 100, 299}) {
    expect_reference<64, Bf16, Bf16>(ragged(1, 3, window), kFloatError);
    expect_reference<64, Bf16, Bf16>(ragged(1, 4, window), kMmaError);
  }
}

TEST(DecodeAttention, TakesRowsOfAFewTokensAndOfNone) {
  AttentionSpec spec{.rows = {{20, 3}, {0, 0}, {130, 4}, {1}, {66, 5}, {0, 0}}, .kv_heads = 2, .group = 3};
  expect_reference<64, Bf16, Bf16>(spec, kFloatError);
  spec.window = 18;
  expect_reference<64, Bf16, Bf16>(spec, kFloatError);
  spec.group = 4;
  expect_reference<64, Bf16, Bf16>(spec, kMmaError);
}

TEST(DecodeAttention, ReadsBlocksOfAnySize) {
  for (const int32_t block_size : {8, 24, 32, 128}) {
    AttentionSpec spec = ragged(2, 1);
    spec.rows.back().shared_blocks = 1;
    spec.block_size = block_size;
    expect_reference<64, Bf16, Bf16>(spec, kFloatError);
    spec.group = 4;
    expect_reference<64, Bf16, Bf16>(spec, kMmaError);
  }
}

TEST(DecodeAttention, ReachesThroughALongContext) {
  expect_reference<64, Bf16, Bf16>({.rows = {{8191}}}, kFloatError);
  expect_reference<64, Bf16, Bf16>({.rows = {{8191}}, .group = 4}, kMmaError);
}

TEST(DecodeAttention, WritesBf16) {
  AttentionSpec spec = ragged(1, 3);
  const AttentionCase of = make_case_of<Bf16, Bf16>(spec);
  const std::vector<float> exact = decode<64, Bf16, Bf16, float>(of, kParts);
  const std::vector<float> got = decode<64, Bf16, Bf16, Bf16>(of, kParts);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], round_to<Bf16>(exact[i]));
}

TEST(DecodeAttention, IsTheSameInEveryOrder) {
  AttentionSpec spec{.rows = {{1}, {65, 2}, {130}}, .kv_heads = 2, .group = 3};
  const AttentionCase plain = make_case_of<Bf16, Bf16>(spec);
  spec.group = 4;
  const AttentionCase mma = make_case_of<Bf16, Bf16>(spec);
  const std::vector<float> plain_forward = decode<64, Bf16, Bf16, float>(plain, kParts);
  const std::vector<float> mma_forward = decode<64, Bf16, Bf16, float>(mma, kParts);
  for (const gpu::KernelOrder& order : gpu::kernel_orders()) {
    EXPECT_EQ((decode<64, Bf16, Bf16, float>(plain, kParts, order)), plain_forward);
    EXPECT_EQ((decode<64, Bf16, Bf16, float>(mma, kParts, order)), mma_forward);
  }
}

TEST(DecodeAttention, GivesATokenTheSameInEveryGrid) {
  for (const int32_t group : {3, 4}) {
    const AttentionCase of = make_case_of<Bf16, Bf16>(ragged(1, group));
    EXPECT_EQ((decode<64, Bf16, Bf16, float>(of, kParts, {}, 3)), (decode<64, Bf16, Bf16, float>(of, kParts)));
  }
}

}  // namespace
}  // namespace sluice::engine::cuda
