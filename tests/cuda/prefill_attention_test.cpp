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

// Of the weights in bf16: 2^-9 of values of up to 4.
constexpr double kError = 8e-3;

template <int32_t kHeadDim, typename Element, typename Out = float>
std::vector<float> prefill(const AttentionCase& of, gpu::KernelOrder order = {}) {
  DeviceArray<Bf16> queries(of.queries);
  CachedCase<Element> cached(of);
  DeviceArray<Out> out(of.queries.size(), gpu::from_float<Out>(std::nanf("")));
  int32_t longest = 1;
  for (const RowSpec& row : of.spec.rows) longest = std::max(longest, row.tokens);
  gpu::KernelStream stream(order);
  const PrefillArguments<Element, Out> arguments{
      {queries.data(), int64_t{of.spec.heads()} * kHeadDim}, cached.cache(), rows_of(of), shape_of(of), out.data()};
  EXPECT_EQ(launch_prefill_attention<kHeadDim>(arguments, {.rows = of.rows(), .stream = stream.get()}, longest), 0);
  return out.floats();
}

template <int32_t kHeadDim, typename Element = Bf16>
void expect_reference(AttentionSpec spec) {
  spec.head_dim = kHeadDim;
  const AttentionCase of = make_case_of<Bf16, Element>(spec);
  EXPECT_LE(distance(prefill<kHeadDim, Element>(of), attention_reference(of)), kError);
}

/// Prompts from their beginning and from their middle, up to and beyond the edges of tiles, and a decode row.
AttentionSpec ragged(int32_t kv_heads, int32_t group, int32_t window = 0) {
  return {.rows = {{1, 1}, {17, 17}, {64, 64}, {65, 65}, {130, 66, 3}, {94, 32}, {97, 1}},
          .kv_heads = kv_heads,
          .group = group,
          .window = window};
}

TEST(PrefillAttention, MatchesReferenceForEveryHeadSize) {
  expect_reference<16>(ragged(1, 1));
  expect_reference<64>(ragged(1, 1));
  expect_reference<80>(ragged(1, 1));
  expect_reference<96>(ragged(1, 1));
  expect_reference<128>(ragged(1, 1));
  expect_reference<256>(ragged(1, 1));
}

TEST(PrefillAttention, MatchesReferenceForEveryGroup) {
  for (const int32_t group : {1, 3, 4, 8})
    expect_reference<64>({.rows = {{70, 7}, {40, 40}}, .kv_heads = 2, .group = group});
}

TEST(PrefillAttention, LooksNoFurtherBackThanItsWindow) {
  for (const int32_t window : {1, 16, 17, 64, 65, 100}) expect_reference<64>(ragged(1, 1, window));
}

TEST(PrefillAttention, ConvertsEveryKindOfCache) {
  const AttentionSpec spec{.rows = {{70, 70}, {40, 9}}, .kv_heads = 2, .group = 3};
  expect_reference<80, Fp8>(spec);
  // Numbers that bf16 has, as the conversion rounds others.
  const AttentionCase wide = make_case_of<Bf16, Bf16>(spec);
  EXPECT_EQ((prefill<64, float>(wide)), (prefill<64, Bf16>(wide)));
  const auto both = [](float value) { return round_to<Bf16>(round_to<Half>(value)); };
  const AttentionCase half = make_attention_case(spec, both, round_to<Bf16>);
  EXPECT_EQ((prefill<64, Half>(half)), (prefill<64, Bf16>(half)));
}

TEST(PrefillAttention, ReadsBlocksOfAnySizeAndSkipsEmptyRows) {
  for (const int32_t block_size : {8, 24, 128})
    expect_reference<64>({.rows = {{70, 70}, {0, 0}, {90, 9, 0}, {0, 0}}, .block_size = block_size});
}

TEST(PrefillAttention, ReachesThroughALongContext) {
  expect_reference<64>({.rows = {{4200, 20}}});
}

TEST(PrefillAttention, WritesBf16) {
  const AttentionCase of = make_case_of<Bf16, Bf16>({.rows = {{70, 70}, {40, 9}}});
  const std::vector<float> exact = prefill<64, Bf16>(of);
  const std::vector<float> got = prefill<64, Bf16, Bf16>(of);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], round_to<Bf16>(exact[i]));
}

TEST(PrefillAttention, IsTheSameInEveryOrder) {
  const AttentionCase of = make_case_of<Bf16, Bf16>({.rows = {{140, 70}, {40, 9}}, .group = 2});
  const std::vector<float> forward = prefill<64, Bf16>(of);
  for (const gpu::KernelOrder& order : gpu::kernel_orders()) EXPECT_EQ((prefill<64, Bf16>(of, order)), forward);
}

TEST(PrefillAttention, DoesNotSeeLaterTokens) {
  // The first token's position is the one but last of a tile of keys.
  const AttentionCase of = make_case_of<Bf16, Bf16>({.rows = {{94, 32}}});
  const std::vector<float> before = prefill<64, Bf16>(of);
  for (const int32_t later : {63, 64, 80, 93}) {
    AttentionCase changed = of;
    std::fill_n(changed.values.begin() + static_cast<int64_t>(of.place(0, later, 0)), 64, 1e6F);
    const std::vector<float> after = prefill<64, Bf16>(changed);
    const auto first_change = std::mismatch(before.begin(), before.end(), after.begin()).first;
    EXPECT_EQ((first_change - before.begin()) / 64, later - of.positions[0]);
  }
}

/// The last tokens of a case of one row, as a chunk of their own.
AttentionCase last_tokens(const AttentionCase& of, int32_t tokens) {
  AttentionCase chunk = of;
  chunk.row_begin = {0, tokens};
  chunk.spec.rows[0].tokens = tokens;
  chunk.positions.assign(of.positions.end() - tokens, of.positions.end());
  chunk.queries.assign(of.queries.end() - int64_t{tokens} * of.spec.heads() * of.spec.head_dim, of.queries.end());
  return chunk;
}

TEST(PrefillAttention, GivesATokenTheSameInEveryChunk) {
  for (const int32_t window : {0, 50}) {
    const AttentionCase whole = make_case_of<Bf16, Bf16>({.rows = {{150, 150}}, .window = window});
    const std::vector<float> wanted = prefill<64, Bf16>(whole);
    for (const int32_t tokens : {1, 33, 100}) {
      const std::vector<float> got = prefill<64, Bf16>(last_tokens(whole, tokens));
      EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.end() - static_cast<int64_t>(got.size())));
    }
  }
}

}  // namespace
}  // namespace sluice::engine::cuda
