#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include "engine/backend.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/cpu_isa.h"
#include "engine/gguf.h"
#include "engine/quant_scheme.h"
#include "engine/tensor_type.h"
#include "tests/engine/backend_batch.h"
#include "tests/engine/backend_ops.h"
#include "tests/engine/quantized_data.h"

namespace sluice::engine {
namespace {

constexpr TensorType kAllTypes[] = {TensorType::kF32,  TensorType::kF16,   TensorType::kBf16,  TensorType::kQ4_0,
                                    TensorType::kQ4_1, TensorType::kQ5_0,  TensorType::kQ5_1,  TensorType::kQ8_0,
                                    TensorType::kQ2_K, TensorType::kQ3_K,  TensorType::kQ4_K,  TensorType::kQ5_K,
                                    TensorType::kQ6_K, TensorType::kIq4Nl, TensorType::kIq4Xs, TensorType::kMxfp4};

std::vector<std::pair<TensorType, TokenKind>> all_types_and_kinds() {
  std::vector<std::pair<TensorType, TokenKind>> all;
  for (const TensorType type : kAllTypes) {
    for (const TokenKind kind : {TokenKind::kDrawn, TokenKind::kPrompt}) all.emplace_back(type, kind);
  }
  return all;
}

/// The length of rows of a few blocks.
int32_t length_of(TensorType type) {
  return traits_of(type).block_elements == kQuantBlockElementsMax ? 512 : 96;
}

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

TEST_P(BackendOps, RefusesACacheThatCannotBe) {
  const KvLayout layout{
      .groups = LayerGroups::one_group(1 << 10), .kv_head_count = 1 << 10, .head_dim = 1 << 10, .block_size = 1 << 10};
  EXPECT_EQ(make_backend()->add_cache(layout, 1 << 20).code(), StatusCode::kResourceExhausted);
}

TEST_P(BackendOps, RefusesACacheOfFp8) {
  const KvLayout layout{
      .groups = LayerGroups::one_group(1), .kv_head_count = 1, .head_dim = 16, .block_size = 16, .type = KvType::kFp8};
  const Status refused = make_backend()->add_cache(layout, 4);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(), "kv.dtype fp8 can't be had on the CPU; use int8");
}

TEST_P(BackendOps, EmbedsExactlyWhatTheFormatDefines) {
  for (const TensorType type : kAllTypes) {
    SCOPED_TRACE(tensor_type_name(type));
    const auto backend = make_backend();
    const int32_t length = length_of(type);
    const auto table = make_tensor(type, {length, 37}, random_);
    const MatrixId id = backend->add_matrix({{&table->tensor}}).value();
    const ActivationId out = backend->add_activation(37, length).value();
    Batch batch = plain_batch(37);
    for (int32_t i = 0; i < 37; ++i) batch.token_ids[static_cast<size_t>(i)] = 36 - i;
    backend->begin_step(batch);
    backend->embed(out, id, 1.0F);
    const std::vector<float> got = read(*backend, out, int64_t{37} * length);
    for (int32_t i = 0; i < 37; ++i) {
      for (int32_t k = 0; k < length; ++k) {
        // Bits, so that zeros keep their signs.
        ASSERT_EQ(std::bit_cast<uint32_t>(got[static_cast<size_t>(i * length + k)]),
                  std::bit_cast<uint32_t>(table->values[static_cast<size_t>((36 - i) * length + k)]));
      }
    }
  }
}

TEST_P(BackendOps, MultipliesAndAddsForEveryWeightType) {
  constexpr int32_t kTokens = 19;
  constexpr int32_t kRows = 37;
  for (const auto& [type, kind] : all_types_and_kinds()) {
    SCOPED_TRACE(tensor_type_name(type));
    const int32_t length = is_quantized(type) ? length_of(type) : 100;
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
    const Batch batch = plain_batch(kTokens, kind);
    backend->begin_step(batch);
    backend->matmul_add(residual, in, id);
    const std::vector<float> got = read(*backend, residual, kTokens * kRows);
    for (int32_t t = 0; t < kTokens; ++t) {
      for (int32_t r = 0; r < kRows; ++r) {
        const Dot product =
            dot(&weights->values[static_cast<size_t>(r * length)], &x[static_cast<size_t>(t * length)], length);
        const auto at = static_cast<size_t>(t * kRows + r);
        // Q4 sums d * q and the minimum apart, so its rounding is relative to sums some times larger than the result's
        // own. Both sides of a bfloat16 product may be off by 2^-9.
        const bool is_bf16 = GetParam() == CpuIsa::kAmx && kind == TokenKind::kPrompt && is_quantized(type);
        const double allowed = 1e-6 + (is_bf16 ? 4e-3 : 3e-6) * product.magnitude;
        ASSERT_NEAR(got[at], double{before[at]} + product.value, allowed) << t << ' ' << r;
      }
    }
  }
}

// With tiles, a prompt's activations come in two bfloat16 parts, which are off by 2^-8 of 2^-8 of them.
TEST_P(BackendOps, MultipliesBf16WeightsAlmostAsFloatsForBothKindsOfTokens) {
  constexpr int32_t kTokens = 35;
  constexpr int32_t kRows = 37;
  for (const int32_t length : {32, 100, 288}) {
    for (const TokenKind kind : {TokenKind::kDrawn, TokenKind::kPrompt}) {
      const auto backend = make_backend();
      const auto weights = make_tensor(TensorType::kBf16, {length, kRows}, random_);
      const MatrixId id = backend->add_matrix({{&weights->tensor}}).value();
      const ActivationId in = backend->add_activation(kTokens, length).value();
      const ActivationId out = backend->add_activation(kTokens, kRows).value();
      const std::vector<float> x = random_.floats(kTokens * length, -3, 3);
      backend->write(in, x);
      backend->write(out, std::vector<float>(kTokens * kRows));
      const Batch batch = plain_batch(kTokens, kind);
      backend->begin_step(batch);
      backend->matmul_add(out, in, id);
      const std::vector<float> got = read(*backend, out, kTokens * kRows);
      for (int32_t i = 0; i < kTokens * kRows; ++i) {
        const Dot product = dot(&weights->values[static_cast<size_t>(i % kRows * length)],
                                &x[static_cast<size_t>(i / kRows * length)], length);
        ASSERT_NEAR(got[static_cast<size_t>(i)], product.value, (0x1p-16 + length * 0x1p-24) * product.magnitude);
      }
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

TEST_P(BackendOps, GivesATokenTheSameBitsInAnyBatch) {
  constexpr int32_t kTokens = 150;
  constexpr int32_t kRows = 48;
  for (const auto& [type, kind] : all_types_and_kinds()) {
    SCOPED_TRACE(tensor_type_name(type));
    const int32_t length = length_of(type);
    const auto backend = make_backend();
    const auto weights = make_tensor(type, {length, kRows}, random_);
    const MatrixId id = backend->add_matrix({{&weights->tensor}}).value();
    const ActivationId in = backend->add_activation(kTokens, length).value();
    const ActivationId out = backend->add_activation(kTokens, kRows).value();
    const std::vector<float> x = random_.floats(kTokens * length);
    const auto run = [&](int32_t begin, int32_t count) {
      backend->write(in, {&x[static_cast<size_t>(begin * length)], static_cast<size_t>(count * length)});
      backend->write(out, std::vector<float>(static_cast<size_t>(count * kRows)));
      const Batch batch = plain_batch(count, kind);
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
  ASSERT_TRUE(backend->sample(in, {add_vector(*backend, *norm), 1e-5F}, id).ok());
  const StepOutput output = backend->collect().value();
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

int64_t address_space_bytes() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST_P(BackendOps, TakesTheMemoryOfAStepAtLoad) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator maps memory in ways of its own";
#endif
  constexpr int32_t kVocab = 50000;
  constexpr int32_t kTokens = 4096;
  constexpr int64_t kSmall = int64_t{1} << 20;
  // A worker's first allocation would otherwise set 64 MiB of addresses aside for it.
  ASSERT_EQ(mallopt(M_ARENA_MAX, 1), 1);
  const auto backend = make_backend();
  const auto norm = make_tensor(TensorType::kF32, {32}, random_);
  const auto head = make_tensor(TensorType::kQ8_0, {32, kVocab}, random_);
  const MatrixId id = backend->add_matrix({{&head->tensor}}).value();
  const VectorId weight = add_vector(*backend, *norm);
  backend->add_rope({rope_frequencies({}, 128)});
  const ActivationId in = backend->add_activation(kTokens, 32).value();
  Batch batch = plain_batch(kTokens);
  SamplingParams params;
  SampleRow row;
  row.params = &params;
  row.scored_token = 1;
  batch.samples.push_back(row);
  const int64_t before = address_space_bytes();
  backend->begin_step(batch);
  ASSERT_TRUE(backend->sample(in, {weight, 1e-5F}, id).ok());
  ASSERT_TRUE(backend->collect().ok());
  EXPECT_LT(address_space_bytes() - before, kSmall);  // logits or angles alone are some times as much
}

INSTANTIATE_TEST_SUITE_P(Isa, BackendOps, ::testing::ValuesIn(available_cpu_isas()),
                         [](const auto& param) { return std::string(cpu_isa_name(param.param)); });

}  // namespace
}  // namespace sluice::engine
