#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/backend.h"
#include "engine/cpu/cpu_isa.h"
#include "tests/engine/backend_ops.h"

// What only some families of models ask of a backend.

namespace sluice::engine {
namespace {

class FamilyOps : public BackendOps {};

double gate_of(GateActivation activation, double g) {
  if (activation == GateActivation::kSilu) return g / (1 + std::exp(-g));
  return 0.5 * g * (1 + std::tanh(std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g)));
}

TEST_P(FamilyOps, GateAsTheModelDoes) {
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
  const RmsNorm rms{add_vector(*backend, *norm), 1e-5F};
  for (const GateActivation activation : {GateActivation::kSilu, GateActivation::kGeluTanh}) {
    const Batch batch = plain_batch(kTokens);
    backend->begin_step(batch);
    backend->norm_gated(out, in, rms, id, activation);
    const std::vector<float> got = read(*backend, out, kTokens * kRows);
    for (int32_t t = 0; t < kTokens; ++t) {
      const std::vector<double> normed = rms_norm(&x[static_cast<size_t>(t * kLength)], norm->values, 1e-5F);
      for (int32_t r = 0; r < kRows; ++r) {
        const double g = dot(&gate->values[static_cast<size_t>(r * kLength)], normed.data(), kLength).value;
        const double u = dot(&up->values[static_cast<size_t>(r * kLength)], normed.data(), kLength).value;
        const double expected = gate_of(activation, g) * u;
        ASSERT_NEAR(got[static_cast<size_t>(t * kRows + r)], expected, 1e-5 * (1 + std::abs(u) * (1 + std::abs(g))));
      }
    }
  }
}

TEST_P(FamilyOps, AddsANormalisedProduct) {
  constexpr int32_t kTokens = 5;
  constexpr int32_t kLength = 24;
  constexpr int32_t kRows = 37;
  const auto backend = make_backend();
  const auto weights = make_tensor(TensorType::kF32, {kLength, kRows}, random_);
  const auto norm = make_tensor(TensorType::kF32, {kRows}, random_);
  const MatrixId id = backend->add_matrix({{&weights->tensor}}).value();
  const ActivationId in = backend->add_activation(kTokens, kLength).value();
  const ActivationId residual = backend->add_activation(kTokens, kRows).value();
  const ActivationId product = backend->add_activation(kTokens, kRows).value();
  const std::vector<float> x = random_.floats(kTokens * kLength);
  const std::vector<float> before = random_.floats(kTokens * kRows);
  for (const int32_t count : {1, kTokens}) {
    backend->write(in, x);
    backend->write(residual, before);
    const Batch batch = plain_batch(count);
    backend->begin_step(batch);
    backend->matmul_norm_add(residual, in, id, {add_vector(*backend, *norm), 1e-6F}, product);
    const std::vector<float> got = read(*backend, residual, count * kRows);
    for (int32_t t = 0; t < count; ++t) {
      std::vector<float> row;
      for (int32_t r = 0; r < kRows; ++r) {
        const float* weight = &weights->values[static_cast<size_t>(r * kLength)];
        row.push_back(static_cast<float>(dot(weight, &x[static_cast<size_t>(t * kLength)], kLength).value));
      }
      const std::vector<double> normed = rms_norm(row.data(), norm->values, 1e-6);
      for (int32_t r = 0; r < kRows; ++r) {
        const auto at = static_cast<size_t>(t * kRows + r);
        ASSERT_NEAR(got[at], double{before[at]} + normed[static_cast<size_t>(r)], 1e-5);
      }
    }
  }
}

/// Experts of random weights, and what they give in double precision.
class TestExperts {
 public:
  static constexpr int32_t kWidth = 32;
  static constexpr int32_t kFfnWidth = 20;
  static constexpr int32_t kExperts = 5;
  static constexpr int32_t kPerToken = 2;

  explicit TestExperts(Random& random) : router_(make_tensor(TensorType::kF32, {kWidth, kExperts}, random)) {
    for (int32_t expert = 0; expert < kExperts; ++expert) {
      gates_.push_back(make_tensor(TensorType::kF32, {kWidth, kFfnWidth}, random));
      ups_.push_back(make_tensor(TensorType::kF32, {kWidth, kFfnWidth}, random));
      downs_.push_back(make_tensor(TensorType::kF32, {kFfnWidth, kWidth}, random));
    }
  }

  ExpertsId add_to(Backend& backend, int32_t tokens_max) const {
    Experts experts;
    experts.per_token = kPerToken;
    experts.router = backend.add_matrix({{&router_->tensor}}).value();
    for (size_t i = 0; i < gates_.size(); ++i) {
      experts.gate_ups.push_back(backend.add_matrix({{&gates_[i]->tensor, &ups_[i]->tensor}}).value());
      experts.downs.push_back(backend.add_matrix({{&downs_[i]->tensor}}).value());
    }
    return backend.add_experts(experts, tokens_max).value();
  }

  std::vector<double> sum_of(const std::vector<double>& x) const {
    std::vector<std::pair<double, size_t>> scores;
    for (size_t i = 0; i < gates_.size(); ++i) {
      scores.emplace_back(dot(&router_->values[i * kWidth], x.data(), kWidth).value, i);
    }
    std::sort(scores.rbegin(), scores.rend());
    double total = 0;
    for (int32_t i = 0; i < kPerToken; ++i) total += std::exp(scores[static_cast<size_t>(i)].first);
    std::vector<double> sum(kWidth);
    for (int32_t i = 0; i < kPerToken; ++i) {
      const auto [score, expert] = scores[static_cast<size_t>(i)];
      const std::vector<double> result = result_of(expert, x);
      for (size_t d = 0; d < sum.size(); ++d) sum[d] += std::exp(score) / total * result[d];
    }
    return sum;
  }

 private:
  std::vector<double> result_of(size_t expert, const std::vector<double>& x) const {
    std::vector<double> hidden;
    for (size_t r = 0; r < kFfnWidth; ++r) {
      const double gate = dot(&gates_[expert]->values[r * kWidth], x.data(), kWidth).value;
      hidden.push_back(gate / (1 + std::exp(-gate)) * dot(&ups_[expert]->values[r * kWidth], x.data(), kWidth).value);
    }
    std::vector<double> result;
    for (size_t r = 0; r < kWidth; ++r) {
      result.push_back(dot(&downs_[expert]->values[r * kFfnWidth], hidden.data(), kFfnWidth).value);
    }
    return result;
  }

  std::unique_ptr<TestTensor> router_;
  std::vector<std::unique_ptr<TestTensor>> gates_;
  std::vector<std::unique_ptr<TestTensor>> ups_;
  std::vector<std::unique_ptr<TestTensor>> downs_;
};

TEST_P(FamilyOps, AddsTheSumOfEachTokensExperts) {
  constexpr int32_t kTokens = 40;
  constexpr int32_t kWidth = TestExperts::kWidth;
  const auto backend = make_backend();
  const TestExperts experts(random_);
  const auto norm = make_tensor(TensorType::kF32, {kWidth}, random_);
  const ExpertsId id = experts.add_to(*backend, kTokens);
  const VectorId weight = add_vector(*backend, *norm);
  const ActivationId residual = backend->add_activation(kTokens, kWidth).value();
  const std::vector<float> x = random_.floats(kTokens * kWidth);
  const auto run = [&](int32_t begin, int32_t count) {
    backend->write(residual, {&x[static_cast<size_t>(begin * kWidth)], static_cast<size_t>(count * kWidth)});
    const Batch batch = plain_batch(count);
    backend->begin_step(batch);
    backend->norm_experts_add(residual, {weight, 1e-5F}, id);
    return read(*backend, residual, count * kWidth);
  };
  const std::vector<float> all = run(0, kTokens);
  for (int32_t t = 0; t < kTokens; ++t) {
    const float* before = &x[static_cast<size_t>(t * kWidth)];
    const std::vector<double> sum = experts.sum_of(rms_norm(before, norm->values, 1e-5F));
    for (int32_t d = 0; d < kWidth; ++d) {
      const double expected = double{before[d]} + sum[static_cast<size_t>(d)];
      ASSERT_NEAR(all[static_cast<size_t>(t * kWidth + d)], expected, 1e-4 * (1 + std::abs(expected)));
    }
  }
  const std::vector<float> alone = run(17, 1);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + 17 * kWidth)) << "alone and in a crowd";
}

INSTANTIATE_TEST_SUITE_P(Isa, FamilyOps, ::testing::ValuesIn(available_cpu_isas()),
                         [](const auto& param) { return std::string(cpu_isa_name(param.param)); });

}  // namespace
}  // namespace sluice::engine
