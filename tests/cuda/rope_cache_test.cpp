#include "engine/cuda/kernels/rope_cache.cuh"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

constexpr int32_t kBlocks = 4;
constexpr float kEpsilon = 0.02F;  // large enough to be missed

struct Shape {
  int32_t heads = 4;
  int32_t kv_heads = 2;
  int32_t head_dim = 64;
  int32_t rope_dim = 64;
  int32_t block_size = 16;
  bool is_pairwise = false;
  bool has_query_norm = false;
  bool has_key_norm = false;
  int64_t shift = 0;
};

std::ostream& operator<<(std::ostream& to, const Shape& shape) {
  return to << shape.heads << " and " << shape.kv_heads << " heads of " << shape.head_dim << ", rope " << shape.rope_dim
            << (shape.is_pairwise ? " pairwise" : " in halves") << ", blocks of " << shape.block_size << ", norms "
            << shape.has_query_norm << shape.has_key_norm << ", shift " << shape.shift;
}

/// A layer's input: tokens at any positions, slots in no order, of which one has none.
template <typename In>
struct Input {
  Input(const Shape& shape, Random& random)
      : qkv(random.numbers<In>(int64_t{tokens()} * (shape.heads + 2 * shape.kv_heads) * shape.head_dim, -3, 3)),
        query_weight(random.numbers<float>(shape.head_dim, -2, 2)),
        key_weight(random.numbers<float>(shape.head_dim, -2, 2)),
        slots({3 * shape.block_size - 1, 0, -1, 3 * shape.block_size, shape.block_size + 3}) {
    for (const int32_t position : {41, 0, 49, 7, 1}) {
      for (int32_t pair = 0; pair < shape.rope_dim / 2; ++pair) {
        const double angle = position * std::pow(0.7, pair);
        angles.push_back(static_cast<float>(kMagnitude * std::cos(angle)));
        angles.push_back(static_cast<float>(kMagnitude * std::sin(angle)));
      }
    }
  }

  static constexpr int32_t tokens() { return 5; }

  static constexpr double kMagnitude = 1.25;

  std::vector<In> qkv;
  std::vector<float> query_weight;
  std::vector<float> key_weight;
  std::vector<int32_t> slots;
  std::vector<float> angles;
};

template <typename In>
std::vector<double> head_of(const Shape& shape, const Input<In>& input, int32_t token, int32_t head) {
  std::vector<double> values;
  const int64_t begin = (int64_t{token} * (shape.heads + 2 * shape.kv_heads) + head) * shape.head_dim;
  for (int32_t i = 0; i < shape.head_dim; ++i) values.push_back(value_of(input.qkv, begin + i));
  return values;
}

void normalize(std::vector<double>& head, const std::vector<float>& weight) {
  double squares = 0;
  for (const double value : head) squares += value * value;
  const double root = std::sqrt(squares / static_cast<double>(head.size()) + double{kEpsilon});
  for (size_t i = 0; i < head.size(); ++i) head[i] *= double{weight[i]} / root;
}

template <typename In>
void turn(const Shape& shape, const Input<In>& input, int32_t token, std::vector<double>& head) {
  const int32_t pairs = shape.rope_dim / 2;
  for (int32_t pair = 0; pair < pairs; ++pair) {
    const auto first = static_cast<size_t>(shape.is_pairwise ? 2 * pair : pair);
    const auto second = static_cast<size_t>(shape.is_pairwise ? 2 * pair + 1 : pair + pairs);
    const double cosine = value_of(input.angles, 2 * (int64_t{token} * pairs + pair));
    const double sine = value_of(input.angles, 2 * (int64_t{token} * pairs + pair) + 1);
    const double x = head[first];
    const double y = head[second];
    head[first] = x * cosine - y * sine;
    head[second] = x * sine + y * cosine;
  }
}

/// What the kernel is to make of a head.
template <typename In>
std::vector<double> expected_head(const Shape& shape, const Input<In>& input, int32_t token, int32_t head) {
  std::vector<double> values = head_of(shape, input, token, head);
  if (head >= shape.heads + shape.kv_heads) return values;
  const bool is_query = head < shape.heads;
  if (is_query && shape.has_query_norm) normalize(values, input.query_weight);
  if (!is_query && shape.has_key_norm) normalize(values, input.key_weight);
  turn(shape, input, token, values);
  return values;
}

template <typename In, typename Query, typename Cached>
struct Buffers {
  explicit Buffers(const Shape& shape, int32_t tokens)
      : queries(int64_t{tokens} * shape.heads * shape.head_dim, shape.shift),
        keys(cache_elements(shape), shape.shift),
        values(cache_elements(shape), shape.shift),
        scales(cache_elements(shape) / shape.head_dim) {
    const auto heads = static_cast<size_t>(cache_elements(shape) / shape.head_dim);
    scales.put(std::vector<HeadScales>(heads, {1.0F, 1.0F}));
    keys.put(std::vector<Cached>(static_cast<size_t>(cache_elements(shape)), gpu::from_float<Cached>(kUntouched)));
    values.put(std::vector<Cached>(static_cast<size_t>(cache_elements(shape)), gpu::from_float<Cached>(kUntouched)));
  }

  static int64_t cache_elements(const Shape& shape) {
    return int64_t{kBlocks} * shape.kv_heads * shape.block_size * shape.head_dim;
  }

  static constexpr float kUntouched = 144;

  GuardedBuffer<Query> queries;
  GuardedBuffer<Cached> keys;
  GuardedBuffer<Cached> values;
  GuardedBuffer<HeadScales> scales;
};

template <typename In, typename Query, typename Cached>
RopeCacheArgs<In, Query, Cached> args_of(const Shape& shape, const Input<In>& input,
                                         Buffers<In, Query, Cached>& buffers) {
  RopeCacheArgs<In, Query, Cached> args{.qkv = input.qkv.data(),
                                        .slots = input.slots.data(),
                                        .angles = input.angles.data(),
                                        .queries = buffers.queries.data(),
                                        .keys = buffers.keys.data(),
                                        .values = buffers.values.data(),
                                        .scales = buffers.scales.data(),
                                        .tokens = input.tokens(),
                                        .heads = shape.heads,
                                        .kv_heads = shape.kv_heads,
                                        .head_dim = shape.head_dim,
                                        .rope_dim = shape.rope_dim,
                                        .block_size = shape.block_size,
                                        .is_pairwise = shape.is_pairwise};
  if (shape.has_query_norm) args.query_norm = {input.query_weight.data(), kEpsilon};
  if (shape.has_key_norm) args.key_norm = {input.key_weight.data(), kEpsilon};
  return args;
}

/// The numbers that stored heads stand for: a scale is one where a type has none.
template <typename Cached>
std::vector<float> scaled(const std::vector<Cached>& cache, const std::vector<HeadScales>& scales,
                          float HeadScales::*which) {
  std::vector<float> numbers;
  for (const Cached& element : cache) {
    numbers.push_back(gpu::to_float(element) * scales[numbers.size() / (cache.size() / scales.size())].*which);
  }
  return numbers;
}

/// With what rounding to T allows.
template <typename T, typename Stored>
void expect_row(const std::vector<Stored>& buffer, int64_t begin, const std::vector<double>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double tolerance = (std::fabs(expected[i]) + 0.03) * kRounding<T>;
    ASSERT_NEAR(value_of(buffer, begin + static_cast<int64_t>(i)), expected[i], tolerance) << "element " << i;
  }
}

/// What the slots hold, and that nothing else has been written.
template <typename Cached, typename In>
void expect_cache(const Shape& shape, const Input<In>& input, const std::vector<float>& cache, int32_t first_head) {
  std::vector<bool> is_written(cache.size() / static_cast<size_t>(shape.head_dim));
  for (int32_t t = 0; t < input.tokens(); ++t) {
    const int32_t slot = input.slots[static_cast<size_t>(t)];
    if (slot < 0) continue;
    for (int32_t h = 0; h < shape.kv_heads; ++h) {
      SCOPED_TRACE(testing::Message() << "slot " << slot << ", head " << h << " from " << first_head);
      const int64_t page = int64_t{slot / shape.block_size} * shape.kv_heads + h;
      const int64_t row = page * shape.block_size + slot % shape.block_size;
      expect_row<Cached>(cache, row * shape.head_dim, expected_head(shape, input, t, first_head + h));
      is_written[static_cast<size_t>(row)] = true;
    }
  }
  for (size_t i = 0; i < cache.size(); ++i) {
    if (is_written[i / static_cast<size_t>(shape.head_dim)]) continue;
    ASSERT_EQ(cache[i], 144.0F) << "element " << i << " of a slot that no token has";
  }
}

template <typename In, typename Query, typename Cached>
void expect_turned_and_cached(const Shape& shape) {
  SCOPED_TRACE(testing::Message() << shape);
  Random random(21);
  const Input<In> input(shape, random);
  std::vector<float> keys;
  std::vector<float> values;
  const auto queries = run_in_all_orders([&](void* stream) {
    Buffers<In, Query, Cached> buffers(shape, input.tokens());
    EXPECT_EQ(launch_rope_cache(args_of(shape, input, buffers), stream), 0);
    const std::vector<HeadScales> scales = buffers.scales.take();
    const auto first_keys = std::exchange(keys, scaled(buffers.keys.take(), scales, &HeadScales::key));
    const auto first_values = std::exchange(values, scaled(buffers.values.take(), scales, &HeadScales::value));
    EXPECT_TRUE(first_keys.empty() || is_same(first_keys, keys));
    EXPECT_TRUE(first_values.empty() || is_same(first_values, values));
    return buffers.queries.take();
  });
  for (int32_t t = 0; t < input.tokens(); ++t) {
    for (int32_t h = 0; h < shape.heads; ++h) {
      SCOPED_TRACE(testing::Message() << "query of token " << t << ", head " << h);
      expect_row<Query>(queries, (int64_t{t} * shape.heads + h) * shape.head_dim, expected_head(shape, input, t, h));
    }
  }
  expect_cache<Cached>(shape, input, keys, shape.heads);
  expect_cache<Cached>(shape, input, values, shape.heads + shape.kv_heads);
}

TEST(RopeCacheKernel, TurnsHeadsOfAnySize) {
  for (const int32_t head_dim : {2, 6, 16, 64, 66, 80, 96, 128, 250, 256}) {
    for (const bool is_pairwise : {false, true}) {
      Shape shape{.head_dim = head_dim, .rope_dim = head_dim, .is_pairwise = is_pairwise};
      expect_turned_and_cached<gpu::Bf16, gpu::Bf16, gpu::Bf16>(shape);
      shape.shift = 1;
      expect_turned_and_cached<float, float, float>(shape);
    }
  }
}

TEST(RopeCacheKernel, TurnsLeadingElementsAlone) {
  for (const auto& [head_dim, rope_dim] : {std::pair{64, 32}, {64, 16}, {64, 20}, {96, 64}, {10, 4}, {64, 0}}) {
    for (const bool is_pairwise : {false, true}) {
      Shape shape{.head_dim = head_dim, .rope_dim = rope_dim, .is_pairwise = is_pairwise, .has_key_norm = true};
      expect_turned_and_cached<gpu::Bf16, float, gpu::Bf16>(shape);
    }
  }
}

TEST(RopeCacheKernel, NormalizesHeadsBeforeTheyTurn) {
  for (const int32_t head_dim : {6, 64, 80, 128, 256}) {
    for (const int norms : {1, 2, 3}) {
      expect_turned_and_cached<float, float, float>({.head_dim = head_dim,
                                                     .rope_dim = head_dim,
                                                     .is_pairwise = norms == 1,
                                                     .has_query_norm = norms % 2 == 1,
                                                     .has_key_norm = norms > 1});
    }
  }
}

TEST(RopeCacheKernel, CachesInEveryTypeAndBlockSize) {
  for (const int32_t block_size : {8, 16, 24}) {
    const Shape shape{.heads = 6, .kv_heads = 3, .block_size = block_size};
    expect_turned_and_cached<gpu::Bf16, gpu::Bf16, gpu::Half>(shape);
    expect_turned_and_cached<gpu::Bf16, gpu::Bf16, gpu::Fp8>(shape);
    expect_turned_and_cached<float, gpu::Bf16, float>(shape);
  }
}

}  // namespace
}  // namespace sluice::engine::cuda
