#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/backend.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/cpu_isa.h"
#include "engine/gguf.h"
#include "engine/tensor_type.h"

namespace sluice::engine {
namespace {

constexpr TensorType kAllTypes[] = {TensorType::kF32,  TensorType::kF16,  TensorType::kBf16,
                                    TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ8_0};

bool is_quantized(TensorType type) {
  return traits_of(type).block_elements > 1;
}

/// A tensor that owns its bytes, with its values as the format defines them.
struct TestTensor {
  std::vector<std::byte> bytes;
  std::vector<float> values;
  GgufTensor tensor;
};

/// Random numbers for one test.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine_); }
  int32_t integer(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(engine_); }
  std::vector<float> floats(int64_t count, float low = -1, float high = 1) {
    std::vector<float> result(static_cast<size_t>(count));
    for (float& x : result) x = uniform(low, high);
    return result;
  }

 private:
  std::mt19937 engine_;
};

void put_u16(std::byte* to, uint16_t value) {
  std::memcpy(to, &value, sizeof(value));
}

// Any bytes are quants; scales must be finite, and the largest quants must occur.
void fill_blocks(TensorType type, Random& random, std::vector<std::byte>& bytes) {
  const auto block_bytes = static_cast<size_t>(traits_of(type).block_bytes);
  for (size_t block = 0; block < bytes.size(); block += block_bytes) {
    for (size_t i = 0; i < block_bytes; ++i) bytes[block + i] = static_cast<std::byte>(random.integer(0, 255));
    if (random.integer(0, 3) == 0)
      std::fill_n(bytes.begin() + static_cast<int64_t>(block), block_bytes, std::byte{0x80});
    if (random.integer(0, 3) == 0)
      std::fill_n(bytes.begin() + static_cast<int64_t>(block), block_bytes, std::byte{0xff});
    put_u16(&bytes[block], float_to_half(random.uniform(-0.1F, 0.1F)));
    if (type == TensorType::kQ4_1) put_u16(&bytes[block + 2], float_to_half(random.uniform(-0.5F, 0.5F)));
  }
}

void fill_floats(TensorType type, Random& random, std::vector<std::byte>& bytes) {
  const auto size = static_cast<size_t>(traits_of(type).block_bytes);
  for (size_t at = 0; at < bytes.size(); at += size) {
    const float value = random.uniform(-1, 1);
    if (type == TensorType::kF32) std::memcpy(&bytes[at], &value, sizeof(value));
    if (type == TensorType::kF16) put_u16(&bytes[at], float_to_half(value));
    if (type == TensorType::kBf16) put_u16(&bytes[at], float_to_bf16(value));
  }
}

std::unique_ptr<TestTensor> make_tensor(TensorType type, std::vector<int64_t> shape, Random& random) {
  auto made = std::make_unique<TestTensor>();
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  made->bytes.resize(static_cast<size_t>(tensor_bytes(type, count)));
  is_quantized(type) ? fill_blocks(type, random, made->bytes) : fill_floats(type, random, made->bytes);
  made->values.resize(static_cast<size_t>(count));
  dequantize(type, made->bytes, made->values);
  made->tensor = {.name = "test", .type = type, .shape = std::move(shape), .data = made->bytes};
  return made;
}

/// A batch of rows whose tokens go to the blocks of their tables.
struct RowSlice {
  std::vector<int32_t> blocks;
  int32_t first_position = 0;
  int32_t count = 0;
};

Batch make_batch(const std::vector<RowSlice>& rows, int32_t block_size) {
  Batch batch;
  batch.row_begin = {0};
  batch.table_begin = {0};
  for (const RowSlice& row : rows) {
    for (int32_t position = row.first_position; position < row.first_position + row.count; ++position) {
      batch.token_ids.push_back(0);
      batch.positions.push_back(position);
      const int32_t block = row.blocks.at(static_cast<size_t>(position / block_size));
      batch.slots.push_back(block * block_size + position % block_size);
    }
    batch.row_begin.push_back(batch.token_count());
    batch.context_lengths.push_back(row.first_position + row.count);
    batch.block_ids.insert(batch.block_ids.end(), row.blocks.begin(), row.blocks.end());
    batch.table_begin.push_back(static_cast<int32_t>(batch.block_ids.size()));
  }
  return batch;
}

Batch plain_batch(int32_t tokens) {
  return make_batch({{{0}, 0, tokens}}, tokens);
}

std::vector<double> rms_norm(const float* x, const std::vector<float>& weight, double epsilon) {
  double squares = 0;
  for (size_t i = 0; i < weight.size(); ++i) squares += double{x[i]} * double{x[i]};
  const double factor = 1 / std::sqrt(squares / static_cast<double>(weight.size()) + epsilon);
  std::vector<double> result;
  for (size_t i = 0; i < weight.size(); ++i) result.push_back(double{x[i]} * factor * double{weight[i]});
  return result;
}

struct Dot {
  double value = 0;
  double magnitude = 0;  // the same sum of absolute values: what a rounding error is relative to
};

template <typename X>
Dot dot(const float* row, const X* x, int32_t length) {
  Dot result;
  for (int32_t k = 0; k < length; ++k) {
    result.value += double{row[k]} * static_cast<double>(x[k]);
    result.magnitude += std::abs(double{row[k]} * static_cast<double>(x[k]));
  }
  return result;
}

class BackendOps : public ::testing::TestWithParam<CpuIsa> {
 protected:
  std::unique_ptr<Backend> make_backend(int32_t threads = 2) {
    return make_cpu_backend({.threads = threads, .isa = std::string(cpu_isa_name(GetParam()))}).value();
  }
  static VectorId add_vector(Backend& backend, const TestTensor& tensor) {
    return backend.add_vector({{&tensor.tensor}}).value();
  }
  static std::vector<float> read(Backend& backend, ActivationId id, int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    backend.read(id, values);
    return values;
  }

  Random random_{42};
};

// Values of blocks whose largest is 127 units: what quantising them to 8 bits gives back exactly.
std::vector<float> quantizable(Random& random, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t block = 0; block < values.size(); block += 32) {
    const float unit = std::ldexp(1.0F, random.integer(-9, -5));
    for (size_t i = block; i < std::min(block + 32, values.size()); ++i) {
      values[i] = unit * static_cast<float>(i == block ? -127 : random.integer(-127, 127));
    }
  }
  return values;
}

TEST_P(BackendOps, RefusesPartsOfDifferentLength) {
  const auto backend = make_backend();
  const auto one = make_tensor(TensorType::kF32, {32, 4}, random_);
  const auto two = make_tensor(TensorType::kF32, {64, 4}, random_);
  EXPECT_EQ(backend->add_matrix({{&one->tensor, &two->tensor}}).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(BackendOps, RefusesAQuantizedVector) {
  const auto tensor = make_tensor(TensorType::kQ8_0, {32}, random_);
  EXPECT_EQ(make_backend()->add_vector({{&tensor->tensor}}).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(BackendOps, RefusesACacheThatCannotBe) {
  const KvLayout layout{.layer_count = 1 << 10, .kv_head_count = 1 << 10, .head_dim = 1 << 10, .block_size = 1 << 10};
  EXPECT_EQ(make_backend()->add_cache(layout, 1 << 20).code(), StatusCode::kResourceExhausted);
}

TEST_P(BackendOps, EmbedsExactlyWhatTheFormatDefines) {
  for (const TensorType type : kAllTypes) {
    SCOPED_TRACE(tensor_type_name(type));
    const auto backend = make_backend();
    const auto table = make_tensor(type, {64, 37}, random_);
    const MatrixId id = backend->add_matrix({{&table->tensor}}).value();
    const ActivationId out = backend->add_activation(37, 64).value();
    Batch batch = plain_batch(37);
    for (int32_t i = 0; i < 37; ++i) batch.token_ids[static_cast<size_t>(i)] = 36 - i;
    backend->begin_step(batch);
    backend->embed(out, id);
    const std::vector<float> got = read(*backend, out, 37 * 64);
    for (int32_t i = 0; i < 37; ++i) {
      for (int32_t k = 0; k < 64; ++k) {
        ASSERT_EQ(got[static_cast<size_t>(i * 64 + k)], table->values[static_cast<size_t>((36 - i) * 64 + k)]);
      }
    }
  }
}

TEST_P(BackendOps, MultipliesAndAddsForEveryWeightType) {
  constexpr int32_t kTokens = 19;
  constexpr int32_t kRows = 37;
  for (const TensorType type : kAllTypes) {
    SCOPED_TRACE(tensor_type_name(type));
    const int32_t length = is_quantized(type) ? 96 : 100;
    const auto backend = make_backend();
    const auto weights = make_tensor(type, {length, kRows}, random_);
    const MatrixId id = backend->add_matrix({{&weights->tensor}}).value();
    const ActivationId in = backend->add_activation(kTokens, length).value();
    const ActivationId residual = backend->add_activation(kTokens, kRows).value();
    const std::vector<float> x =
        is_quantized(type) ? quantizable(random_, kTokens * length) : random_.floats(kTokens * length);
    const std::vector<float> before = random_.floats(kTokens * kRows);
    backend->write(in, x);
    backend->write(residual, before);
    const Batch batch = plain_batch(kTokens);
    backend->begin_step(batch);
    backend->matmul_add(residual, in, id);
    const std::vector<float> got = read(*backend, residual, kTokens * kRows);
    for (int32_t t = 0; t < kTokens; ++t) {
      for (int32_t r = 0; r < kRows; ++r) {
        const Dot product =
            dot(&weights->values[static_cast<size_t>(r * length)], &x[static_cast<size_t>(t * length)], length);
        const auto at = static_cast<size_t>(t * kRows + r);
        // Q4 sums d * q and the minimum apart, so its rounding is relative to sums some times larger than the result's
        // own.
        ASSERT_NEAR(got[at], double{before[at]} + product.value, 1e-6 + 3e-6 * product.magnitude) << t << ' ' << r;
      }
    }
  }
}

TEST_P(BackendOps, QuantizesActivationsToWithinHalfAStep) {
  constexpr int32_t kLength = 128;
  constexpr int32_t kRows = 16;
  for (const TensorType type : {TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ8_0}) {
    const auto backend = make_backend();
    const auto weights = make_tensor(type, {kLength, kRows}, random_);
    const MatrixId id = backend->add_matrix({{&weights->tensor}}).value();
    const ActivationId in = backend->add_activation(1, kLength).value();
    const ActivationId out = backend->add_activation(1, kRows).value();
    std::vector<float> x = random_.floats(kLength, -3, 3);
    std::fill_n(x.begin() + 32, 32, 0.0F);  // a block of nothing but zeros
    backend->write(in, x);
    const Batch batch = plain_batch(1);
    backend->begin_step(batch);
    backend->matmul_add(out, in, id);
    const std::vector<float> got = read(*backend, out, kRows);
    for (int32_t r = 0; r < kRows; ++r) {
      const float* row = &weights->values[static_cast<size_t>(r * kLength)];
      double allowed = 1e-4;
      for (int32_t k = 0; k < kLength; ++k) allowed += std::abs(double{row[k]}) * 3.0 / 127 / 2;
      EXPECT_NEAR(got[static_cast<size_t>(r)], dot(row, x.data(), kLength).value, allowed);
    }
  }
}

TEST_P(BackendOps, NormalisesMultipliesAndAddsBias) {
  constexpr int32_t kTokens = 9;
  constexpr int32_t kLength = 72;
  const auto backend = make_backend();
  const auto norm = make_tensor(TensorType::kF32, {kLength}, random_);
  const auto first = make_tensor(TensorType::kF32, {kLength, 20}, random_);
  const auto second = make_tensor(TensorType::kBf16, {kLength, 33}, random_);
  const auto bias = make_tensor(TensorType::kF16, {53}, random_);
  const MatrixId id = backend->add_matrix({{&first->tensor, &second->tensor}}).value();
  const ActivationId in = backend->add_activation(kTokens, kLength).value();
  const ActivationId out = backend->add_activation(kTokens, 53).value();
  const std::vector<float> x = random_.floats(kTokens * kLength, -5, 5);
  backend->write(in, x);
  const Batch batch = plain_batch(kTokens);
  backend->begin_step(batch);
  backend->norm_matmul(out, in, {add_vector(*backend, *norm), 1e-3F}, id, add_vector(*backend, *bias));
  const std::vector<float> got = read(*backend, out, kTokens * 53);
  for (int32_t t = 0; t < kTokens; ++t) {
    const std::vector<double> normed = rms_norm(&x[static_cast<size_t>(t * kLength)], norm->values, 1e-3F);
    for (int32_t r = 0; r < 53; ++r) {
      const float* row = r < 20 ? &first->values[static_cast<size_t>(r * kLength)]
                                : &second->values[static_cast<size_t>((r - 20) * kLength)];
      const double expected = dot(row, normed.data(), kLength).value + double{bias->values[static_cast<size_t>(r)]};
      ASSERT_NEAR(got[static_cast<size_t>(t * 53 + r)], expected, 2e-5);
    }
  }
}

TEST_P(BackendOps, ComputesSwiGlu) {
  constexpr int32_t kTokens = 5;
  constexpr int32_t kLength = 64;
  constexpr int32_t kRows = 40;
  const auto backend = make_backend();
  const auto norm = make_tensor(TensorType::kF32, {kLength}, random_);
  const auto gate = make_tensor(TensorType::kF32, {kLength, kRows}, random_);
  const auto up = make_tensor(TensorType::kF32, {kLength, kRows}, random_);
  const MatrixId id = backend->add_matrix({{&gate->tensor, &up->tensor}}).value();
  const ActivationId in = backend->add_activation(kTokens, kLength).value();
  const ActivationId out = backend->add_activation(kTokens, kRows).value();
  const std::vector<float> x = random_.floats(kTokens * kLength, -100, 100);
  backend->write(in, x);
  const Batch batch = plain_batch(kTokens);
  backend->begin_step(batch);
  backend->norm_swiglu(out, in, {add_vector(*backend, *norm), 1e-5F}, id);
  const std::vector<float> got = read(*backend, out, kTokens * kRows);
  for (int32_t t = 0; t < kTokens; ++t) {
    const std::vector<double> normed = rms_norm(&x[static_cast<size_t>(t * kLength)], norm->values, 1e-5F);
    for (int32_t r = 0; r < kRows; ++r) {
      const double g = dot(&gate->values[static_cast<size_t>(r * kLength)], normed.data(), kLength).value;
      const double u = dot(&up->values[static_cast<size_t>(r * kLength)], normed.data(), kLength).value;
      const double expected = g / (1 + std::exp(-g)) * u;
      ASSERT_NEAR(got[static_cast<size_t>(t * kRows + r)], expected, 1e-5 * (1 + std::abs(u) * (1 + std::abs(g))));
    }
  }
}

TEST_P(BackendOps, GivesATokenTheSameBitsInAnyBatch) {
  constexpr int32_t kTokens = 150;
  constexpr int32_t kRows = 48;
  for (const TensorType type : kAllTypes) {
    SCOPED_TRACE(tensor_type_name(type));
    const auto backend = make_backend();
    const auto weights = make_tensor(type, {96, kRows}, random_);
    const MatrixId id = backend->add_matrix({{&weights->tensor}}).value();
    const ActivationId in = backend->add_activation(kTokens, 96).value();
    const ActivationId out = backend->add_activation(kTokens, kRows).value();
    const std::vector<float> x = random_.floats(kTokens * 96);
    const auto run = [&](int32_t begin, int32_t count) {
      backend->write(in, {&x[static_cast<size_t>(begin * 96)], static_cast<size_t>(count * 96)});
      backend->write(out, std::vector<float>(static_cast<size_t>(count * kRows)));
      const Batch batch = plain_batch(count);
      backend->begin_step(batch);
      backend->matmul_add(out, in, id);
      return read(*backend, out, count * kRows);
    };
    const std::vector<float> all = run(0, kTokens);
    for (const int32_t count : {1, 3, 8, 13}) {
      const std::vector<float> some = run(101, count);
      ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 101 * kRows)) << count;
    }
  }
}

TEST_P(BackendOps, ScoresSampleRowsFromTheHead) {
  constexpr int32_t kLength = 32;
  constexpr int32_t kVocab = 50;
  const auto backend = make_backend();
  const auto norm = make_tensor(TensorType::kF32, {kLength}, random_);
  const auto head = make_tensor(TensorType::kF32, {kLength, kVocab}, random_);
  const MatrixId id = backend->add_matrix({{&head->tensor}}).value();
  const ActivationId in = backend->add_activation(40, kLength).value();
  const std::vector<float> x = random_.floats(40 * kLength);
  backend->write(in, x);
  SamplingParams params;
  Batch batch = plain_batch(40);
  for (int32_t i = 0; i < 70; ++i) {  // more than fit one tile of logits
    SampleRow row;
    row.token_index = (i * 7) % 40;
    row.scored_token = (i * 3) % kVocab;
    row.params = &params;
    batch.samples.push_back(row);
  }
  backend->begin_step(batch);
  const StepOutput output = backend->sample(in, {add_vector(*backend, *norm), 1e-5F}, id).value();
  ASSERT_EQ(output.samples.size(), batch.samples.size());
  for (size_t i = 0; i < output.samples.size(); ++i) {
    const SampleRow& row = batch.samples[i];
    const auto normed = rms_norm(&x[static_cast<size_t>(row.token_index * kLength)], norm->values, 1e-5F);
    double total = 0;
    double scored = 0;
    for (int32_t v = 0; v < kVocab; ++v) {
      const double logit = dot(&head->values[static_cast<size_t>(v * kLength)], normed.data(), kLength).value;
      total += std::exp(logit);
      if (v == row.scored_token) scored = logit;
    }
    EXPECT_EQ(output.samples[i].token, row.scored_token);
    EXPECT_NEAR(output.samples[i].logprob, scored - std::log(total), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, BackendOps, ::testing::ValuesIn(available_cpu_isas()),
                         [](const auto& param) { return std::string(cpu_isa_name(param.param)); });

/// What attention is tried with.
struct AttentionCase {
  int32_t group = 1;
  int32_t block_size = 16;
  KvType type = KvType::kF16;
  int32_t head_dim = 16;
  int32_t rope_dim = 16;
  bool is_pairwise = true;
};

class BackendAttention : public ::testing::TestWithParam<std::tuple<CpuIsa, AttentionCase>> {
 protected:
  static constexpr int32_t kKvHeads = 2;
  static constexpr int32_t kBlocksTokens = 256;
  static constexpr int32_t kLayer = 1;
  static constexpr double kRopeBase = 100.0;

  void SetUp() override {
    backend_ = make_cpu_backend({.threads = 2, .isa = std::string(cpu_isa_name(std::get<0>(GetParam())))}).value();
    const KvLayout layout{.layer_count = 3,
                          .kv_head_count = kKvHeads,
                          .head_dim = case_.head_dim,
                          .block_size = case_.block_size,
                          .type = case_.type};
    ASSERT_TRUE(backend_->add_cache(layout, kBlocksTokens / case_.block_size).ok());
    qkv_ = backend_->add_activation(kBlocksTokens, qkv_width()).value();
    out_ = backend_->add_activation(kBlocksTokens, out_width()).value();
    rope_ = backend_->add_rope({case_.rope_dim, kRopeBase, case_.is_pairwise});
  }

  int32_t head_count() const { return case_.group * kKvHeads; }
  int32_t qkv_width() const { return (head_count() + 2 * kKvHeads) * case_.head_dim; }
  int32_t out_width() const { return head_count() * case_.head_dim; }

  std::vector<float> attend(const std::vector<RowSlice>& rows, const std::vector<float>& qkv) {
    const Batch batch = make_batch(rows, case_.block_size);
    backend_->write(qkv_, qkv);
    backend_->begin_step(batch);
    backend_->attend(out_, qkv_, {kLayer, head_count(), rope_, 0.5F});
    std::vector<float> result(static_cast<size_t>(batch.token_count() * out_width()));
    backend_->read(out_, result);
    return result;
  }

  std::vector<double> turned(const float* head, int32_t position) const {
    std::vector<double> result(head, head + case_.head_dim);
    for (int32_t i = 0; i < case_.rope_dim / 2; ++i) {
      const auto first = static_cast<size_t>(case_.is_pairwise ? 2 * i : i);
      const auto second = static_cast<size_t>(case_.is_pairwise ? 2 * i + 1 : i + case_.rope_dim / 2);
      const double angle = position * std::pow(kRopeBase, -2.0 * i / case_.rope_dim);
      result[first] = double{head[first]} * std::cos(angle) - double{head[second]} * std::sin(angle);
      result[second] = double{head[first]} * std::sin(angle) + double{head[second]} * std::cos(angle);
    }
    return result;
  }

  /// Attention of the last token of a whole sequence [tokens, qkv_width].
  std::vector<double> expected(const std::vector<float>& qkv, int32_t position, int32_t head) const {
    const int32_t dim = case_.head_dim;
    const int32_t kv_head = head / case_.group;
    const auto at = [&](int32_t token, int32_t which) {
      return &qkv[static_cast<size_t>(token * qkv_width() + which * dim)];
    };
    const std::vector<double> query = turned(at(position, head), position);
    std::vector<double> result(static_cast<size_t>(dim));
    double total = 0;
    for (int32_t token = 0; token <= position; ++token) {
      const std::vector<double> key = turned(at(token, head_count() + kv_head), token);
      double score = 0;
      for (size_t d = 0; d < key.size(); ++d) score += query[d] * key[d];
      const double weight = std::exp(0.5 * score);
      const float* value = at(token, head_count() + kKvHeads + kv_head);
      for (size_t d = 0; d < key.size(); ++d) result[d] += weight * double{value[d]};
      total += weight;
    }
    for (double& x : result) x /= total;
    return result;
  }

  /// Some blocks of the pool, in no order.
  RowSlice row_of(int32_t tokens, int32_t first_block) const {
    RowSlice row{.blocks = {}, .first_position = 0, .count = tokens};
    for (int32_t i = 0; i < (tokens + case_.block_size - 1) / case_.block_size; ++i)
      row.blocks.push_back(first_block + i);
    std::reverse(row.blocks.begin(), row.blocks.end());
    return row;
  }

  const AttentionCase case_ = std::get<1>(GetParam());
  Random random_{7};
  std::unique_ptr<Backend> backend_;
  ActivationId qkv_;
  ActivationId out_;
  RopeId rope_;
};

TEST_P(BackendAttention, MatchesTheReferenceThroughShuffledBlocks) {
  const RowSlice first = row_of(71, 128 / case_.block_size);
  const RowSlice second = row_of(9, 0);
  const std::vector<float> qkv = random_.floats(80 * qkv_width());
  const std::vector<float> second_qkv(qkv.begin() + 71 * qkv_width(), qkv.end());
  const std::vector<float> got = attend({first, second}, qkv);
  const double allowed = case_.type == KvType::kF16 ? 2e-3 : 1e-2;
  for (int32_t token = 0; token < 80; ++token) {
    for (int32_t head = 0; head < head_count(); ++head) {
      const auto wanted = token < 71 ? expected(qkv, token, head) : expected(second_qkv, token - 71, head);
      for (int32_t d = 0; d < case_.head_dim; ++d) {
        const auto at = static_cast<size_t>(token * out_width() + head * case_.head_dim + d);
        ASSERT_NEAR(got[at], wanted[static_cast<size_t>(d)], allowed) << token << ' ' << head << ' ' << d;
      }
    }
  }
}

TEST_P(BackendAttention, GivesTheSameBitsWholeInChunksAndTokenByToken) {
  constexpr int32_t kTokens = 71;
  const std::vector<float> qkv = random_.floats(kTokens * qkv_width());
  const std::vector<float> whole = attend({row_of(kTokens, 0)}, qkv);
  for (const int32_t chunk : {1, 5, 32}) {
    RowSlice row = row_of(kTokens, 128 / case_.block_size);
    for (int32_t begin = 0; begin < kTokens; begin += chunk) {
      row.first_position = begin;
      row.count = std::min(chunk, kTokens - begin);
      const auto from = qkv.begin() + begin * qkv_width();
      const std::vector<float> got = attend({row}, {from, from + row.count * qkv_width()});
      ASSERT_TRUE(std::equal(got.begin(), got.end(), whole.begin() + begin * out_width())) << chunk << " at " << begin;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BackendAttention,
    ::testing::Combine(::testing::ValuesIn(available_cpu_isas()),
                       ::testing::Values(AttentionCase{.group = 1}, AttentionCase{.group = 3, .block_size = 4},
                                         AttentionCase{.group = 4, .type = KvType::kBf16},
                                         AttentionCase{.group = 3, .head_dim = 64, .rope_dim = 64},
                                         AttentionCase{.group = 2, .block_size = 32, .head_dim = 24, .rope_dim = 8},
                                         AttentionCase{.group = 3, .type = KvType::kBf16, .is_pairwise = false})));

}  // namespace
}  // namespace sluice::engine
