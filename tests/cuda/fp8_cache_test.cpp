#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "engine/cuda/kernels/attention_launch.cuh"
#include "engine/cuda/kernels/rope_cache.cuh"
#include "tests/cuda/attention_case.h"
#include "tests/cuda/kernel_data.h"

// What a cache of e4m3 with a scale to each head loses, from a key's storing to what attention makes of it.

namespace sluice::engine::cuda {
namespace {

using gpu::Bf16;
using gpu::Fp8;

constexpr int32_t kHeadDim = 64;

TEST(HeadScale, IsTheSmallestPowerOfTwoThatBringsAHeadIntoRange) {
  EXPECT_EQ(head_scale(448), 1);
  EXPECT_EQ(head_scale(std::nextafter(448.0F, 500.0F)), 2);
  EXPECT_EQ(head_scale(224), 0.5F);
  EXPECT_EQ(head_scale(std::nextafter(224.0F, 500.0F)), 1);
  EXPECT_EQ(head_scale(1e-30F), 0x1p-100F);
  EXPECT_EQ(head_scale(448 * 0x1p-99F), 0x1p-99F);
  EXPECT_EQ(head_scale(std::numeric_limits<float>::max()), 0x1p120F);
}

TEST(HeadScale, IsFiniteAndPositiveForZerosAndTheLeastNumbers) {
  for (const float largest : {0.0F, std::numeric_limits<float>::denorm_min(), 1e-38F}) {
    EXPECT_EQ(head_scale(largest), 0x1p-100F) << largest;
  }
}

/// A head of each magnitude, one of zeros and one with a single large channel.
std::vector<float> heads_of_all_sizes(Random& random) {
  std::vector<float> heads;
  for (const float size : {1e-20F, 1e-4F, 0.02F, 1.0F, 100.0F, 447.9F, 449.0F, 5e3F, 1e30F, 0.0F}) {
    for (int32_t i = 0; i < kHeadDim; ++i) heads.push_back(size * random.uniform(-1, 1));
  }
  for (int32_t i = 0; i < kHeadDim; ++i) heads.push_back(i == 5 ? 3000.0F : random.uniform(-1, 1));
  return heads;
}

TEST(Fp8Cache, KeepsHeadsOfEveryMagnitudeToASixteenth) {
  Random random(7);
  const std::vector<float> heads = heads_of_all_sizes(random);
  const auto count = static_cast<int32_t>(heads.size()) / kHeadDim;
  // A token of one query head and one key and value head for each: query, key, value.
  std::vector<float> qkv;
  std::vector<int32_t> slots;
  for (int32_t t = 0; t < count; ++t) {
    for (int32_t copy = 0; copy < 3; ++copy) {
      qkv.insert(qkv.end(), heads.begin() + t * kHeadDim, heads.begin() + (t + 1) * kHeadDim);
    }
    slots.push_back(count - 1 - t);
  }
  GuardedBuffer<Bf16> queries(count * kHeadDim);
  GuardedBuffer<Fp8> keys(16 * kHeadDim);
  GuardedBuffer<Fp8> values(16 * kHeadDim);
  GuardedBuffer<HeadScales> all_scales(16);
  ASSERT_EQ(launch_rope_cache(RopeCacheArgs<float, Bf16, Fp8>{.qkv = qkv.data(),
                                                              .slots = slots.data(),
                                                              .queries = queries.data(),
                                                              .keys = keys.data(),
                                                              .values = values.data(),
                                                              .scales = all_scales.data(),
                                                              .tokens = count,
                                                              .heads = 1,
                                                              .kv_heads = 1,
                                                              .head_dim = kHeadDim,
                                                              .block_size = 16},
                              nullptr),
            0);
  const std::vector<Fp8> stored = keys.take();
  const std::vector<HeadScales> scales = all_scales.take();
  EXPECT_TRUE(is_same(values.take(), stored));
  for (int32_t t = 0; t < count; ++t) {
    const auto slot = static_cast<size_t>(slots[static_cast<size_t>(t)]);
    EXPECT_EQ(scales[slot].value, scales[slot].key);
    EXPECT_EQ(scales[slot].key, CachedHeads<Fp8>::scale_of(
                                    std::span(heads).subspan(static_cast<size_t>(t * kHeadDim), size_t{kHeadDim})));
    for (int32_t i = 0; i < kHeadDim; ++i) {
      const double exact = double{heads[static_cast<size_t>(t * kHeadDim + i)]};
      // Half of the last of three bits, and of the least step there is.
      const double limit = std::max(std::abs(exact) / 16, double{scales[slot].key} * 0x1p-10);
      const double kept = value_of(stored, static_cast<int64_t>(slot) * kHeadDim + i) * double{scales[slot].key};
      ASSERT_NEAR(kept, exact, limit) << "token " << t << ", element " << i;
    }
  }
}

template <typename Element>
std::vector<float> decode(const AttentionCase& of) {
  constexpr SplitLimits kWhole{.keys_min = 1 << 20, .splits_max = 1};
  DeviceArray<Bf16> queries(of.queries);
  CachedCase<Element> cached(of);
  DeviceArray<float> out(of.queries.size());
  const DecodeArguments<Bf16, Element, float> arguments{{queries.data(), int64_t{of.spec.heads()} * kHeadDim},
                                                        cached.cache(),
                                                        rows_of(of),
                                                        shape_of(of),
                                                        kWhole,
                                                        out.data(),
                                                        nullptr};
  EXPECT_EQ(launch_decode_attention<kHeadDim>(arguments, {.rows = of.rows()}, 1), 0);
  return out.floats();
}

std::vector<float> prefill(const AttentionCase& of) {
  DeviceArray<Bf16> queries(of.queries);
  CachedCase<Fp8> cached(of);
  DeviceArray<float> out(of.queries.size());
  const PrefillArguments<Fp8, float> arguments{
      {queries.data(), int64_t{of.spec.heads()} * kHeadDim}, cached.cache(), rows_of(of), shape_of(of), out.data()};
  EXPECT_EQ(launch_prefill_attention<kHeadDim>(arguments, {.rows = of.rows()}, of.tokens()), 0);
  return out.floats();
}

/// Keys as models have them: a few channels lie far from zero for all tokens, as a bias puts them there, up to beyond
/// what e4m3 has without a scale, and queries are small there. Values are of early layers, a hundredth.
AttentionCase outlier_case(int32_t tokens) {
  const auto as_is = [](float value) { return value; };
  AttentionCase of = make_attention_case({.rows = {{200, tokens}}, .group = 2}, as_is, round_to<Bf16>, 11);
  for (size_t i = 0; i < of.keys.size(); ++i) {
    if (i % kHeadDim == 3) of.keys[i] += 600;
    if (i % kHeadDim == 40) of.keys[i] = 4 * of.keys[i] - 30;
  }
  for (size_t i = 0; i < of.queries.size(); ++i) {
    if (i % kHeadDim == 3 || i % kHeadDim == 40) of.queries[i] /= 8;
  }
  for (float& value : of.values) value *= 0.01F;
  return of;
}

/// What storing changes of a token's output at most, and the largest of its values. Scores move by d_k, all of them
/// alike where an outlier is rounded alike, and only differences count: a weight w becomes w' with |w' - w| <= (e^s -
/// 1) w for s = max d - min d. So |o' - o| <= (e^s - 1) sum of w |v| + sum of w' |v' - v|.
std::pair<double, double> output_limit(const AttentionCase& exact, const AttentionCase& stored, int32_t token,
                                       int32_t head) {
  const int32_t position = exact.positions[static_cast<size_t>(token)];
  const float* query = &exact.queries[static_cast<size_t>((token * exact.spec.heads() + head) * kHeadDim)];
  double least = 0;
  double most = 0;
  double largest = 0;
  double largest_change = 0;
  for (int32_t key = 0; key <= position; ++key) {
    const size_t at = exact.place(0, key, head / exact.spec.group);
    double moved = 0;
    for (size_t i = 0; i < kHeadDim; ++i) {
      moved += double{exact.scale} * double{query[i]} * (double{stored.keys[at + i]} - double{exact.keys[at + i]});
      largest = std::max(largest, std::abs(double{exact.values[at + i]}));
      largest_change = std::max(largest_change, std::abs(double{stored.values[at + i]} - double{exact.values[at + i]}));
    }
    least = key == 0 ? moved : std::min(least, moved);
    most = key == 0 ? moved : std::max(most, moved);
  }
  return {std::expm1(most - least) * largest + largest_change, largest};
}

/// `error` is of the kernel alone, relative to values of up to 0.04.
void expect_within_limits(const AttentionCase& of, const std::vector<float>& got, double error) {
  AttentionCase stored = of;
  stored.keys = CachedCase<Fp8>(of).keys.floats();
  stored.values = CachedCase<Fp8>(of).values.floats();
  EXPECT_LE(distance(got, attention_reference(stored)), error) << "of what is stored";
  const std::vector<double> exact = attention_reference(of);
  double shares = 0;
  for (int32_t row = 0; row < of.tokens() * of.spec.heads(); ++row) {
    const auto [limit, largest] = output_limit(of, stored, row / of.spec.heads(), row % of.spec.heads());
    shares += limit / largest;
    for (int32_t i = row * kHeadDim; i < (row + 1) * kHeadDim; ++i) {
      const auto at = static_cast<size_t>(i);
      ASSERT_NEAR(static_cast<double>(got[at]), exact[at], limit + error) << "token and head " << row;
    }
  }
  EXPECT_LE(shares / (of.tokens() * of.spec.heads()), 0.6) << "a limit that would say nothing";
}

TEST(Fp8Cache, AttendsToKeysWithOutlierChannelsWithinWhatRoundingExplains) {
  expect_within_limits(outlier_case(1), decode<Fp8>(outlier_case(1)), 2e-6);
  // Weights as bf16: 2^-9 of values of up to 0.04.
  expect_within_limits(outlier_case(70), prefill(outlier_case(70)), 1e-4);
}

}  // namespace
}  // namespace sluice::engine::cuda
