#include "engine/cuda/device_experts.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/host_device.h"
#include "tests/engine/backend_ops.h"

// Experts of a layer on the simulated GPU, against those on the CPU.

namespace sluice::engine {
namespace {

// All of which products in fp8 could have.
constexpr int32_t kWidth = 48;
constexpr int32_t kFfnWidth = 32;
constexpr int32_t kExperts = 16;
constexpr int32_t kPerToken = 8;
constexpr int32_t kTokensMax = 50;  // which is enough for large tiles
constexpr float kEpsilon = 1e-5F;

/// The tensors of a layer; all values are bf16's.
struct Layer {
  explicit Layer(bool sums_to_one) {
    Random random(21);
    experts.per_token = kPerToken;
    experts.sums_to_one = sums_to_one;
    norm = make_tensor(TensorType::kBf16, {kWidth}, random);
    router = make_tensor(TensorType::kBf16, {kWidth, kExperts}, random);
    for (int32_t expert = 0; expert < kExperts; ++expert) {
      gates.push_back(make_tensor(TensorType::kBf16, {kWidth, kFfnWidth}, random));
      ups.push_back(make_tensor(TensorType::kBf16, {kWidth, kFfnWidth}, random));
      downs.push_back(make_tensor(TensorType::kBf16, {kFfnWidth, kWidth}, random));
    }
  }

  /// `holder` has add_matrix().
  template <typename Holder>
  Experts added_to(Holder& holder) const {
    Experts added = experts;
    added.router = holder.add_matrix({{&router->tensor}}).value();
    for (size_t i = 0; i < gates.size(); ++i) {
      added.gate_ups.push_back(holder.add_matrix({{&gates[i]->tensor, &ups[i]->tensor}}).value());
      added.downs.push_back(holder.add_matrix({{&downs[i]->tensor}}).value());
    }
    return added;
  }

  /// How far the last expert that a token takes is above the first that it doesn't.
  double margin(const float* token) const {
    const std::vector<double> normed = rms_norm(token, norm->values, kEpsilon);
    std::vector<double> scores(kExperts);
    for (size_t expert = 0; expert < kExperts; ++expert)
      scores[expert] = dot(&router->values[expert * kWidth], normed.data(), kWidth).value;
    std::sort(scores.rbegin(), scores.rend());
    return scores[kPerToken - 1] - scores[kPerToken];
  }

  Experts experts;
  std::unique_ptr<TestTensor> norm;
  std::unique_ptr<TestTensor> router;
  std::vector<std::unique_ptr<TestTensor>> gates;
  std::vector<std::unique_ptr<TestTensor>> ups;
  std::vector<std::unique_ptr<TestTensor>> downs;
};

std::vector<float> on_cpu(const Layer& layer, const std::vector<float>& residual) {
  const auto backend = make_cpu_backend({.threads = 1, .isa = "portable"}).value();
  const auto tokens = static_cast<int32_t>(residual.size()) / kWidth;
  const ExpertsId id = backend->add_experts(layer.added_to(*backend), tokens).value();
  const VectorId norm = backend->add_vector(layer.norm->values).value();
  const ActivationId activation = backend->add_activation(tokens, kWidth).value();
  backend->write(activation, residual);
  const Batch batch = plain_batch(tokens, TokenKind::kPrompt);
  backend->begin_step(batch);
  backend->norm_experts_add(activation, {norm, kEpsilon}, id);
  std::vector<float> result(residual.size());
  backend->read(activation, result);
  return result;
}

/// What CudaBackend has of a layer, in kF32 for Stored = float.
template <typename Stored>
class LayerOnDevice {
 public:
  LayerOnDevice(const Layer& layer, cuda::Element element) : weights_(device_, {element}) {
    id_ = experts_.add(layer.added_to(weights_)).value();
    norm_ = weights_.add_vector(layer.norm->values).value();
    residual_ = arena_.add(kTokensMax, kWidth);
    const auto room = experts_.room(id_, kTokensMax);
    arena_.plan({.uses = {}, .writes = {residual_}, .scratch = {}});
    arena_.plan({.uses = {residual_},
                 .writes = {},
                 .scratch = {{cuda::Scratch::kColumns, products_.column_bytes(kTokensMax, kWidth)},
                             {cuda::Scratch::kRouting, room.routing},
                             {cuda::Scratch::kExpertGated, room.gated},
                             {cuda::Scratch::kExpertRows, room.rows}}});
    EXPECT_TRUE(weights_.allocate().ok());
    EXPECT_TRUE(experts_.allocate().ok());
    EXPECT_TRUE(arena_.allocate(device_).ok());
    EXPECT_TRUE(weights_.finish([](int64_t) {}).ok());
  }

  void put(const std::vector<float>& residual) {
    EXPECT_TRUE(device_.copy_in(arena_.data(residual_), residual.data(), bytes_of(residual)).ok());
  }
  void launch(int32_t tokens) {
    cuda::StepStatus status;
    experts_.run(id_, arena_.data(residual_), {weights_.values_of(norm_), kEpsilon}, nullptr, tokens,
                 arena_.data(residual_), status);
    EXPECT_TRUE(status.first().ok()) << status.first();
  }
  std::vector<float> take(size_t count) {
    std::vector<float> result(count);
    EXPECT_TRUE(device_.copy_out(result.data(), arena_.data(residual_), bytes_of(result)).ok());
    return result;
  }
  std::vector<float> run(const std::vector<float>& residual) {
    put(residual);
    launch(static_cast<int32_t>(residual.size()) / kWidth);
    return take(residual.size());
  }

  /// To be recorded.
  void prepare(int32_t tokens) { products_.prepare(tokens); }
  cuda::HostDevice& device() { return device_; }
  const cuda::DeviceWeights& weights() const { return weights_; }

 private:
  static int64_t bytes_of(const std::vector<float>& values) {
    return static_cast<int64_t>(values.size() * sizeof(float));
  }

  cuda::HostDevice device_{int64_t{64} << 20};
  cuda::DeviceWeights weights_;
  cuda::ActivationArena arena_;
  cuda::MatrixProducts<Stored> products_{device_, weights_, arena_, 0, 0};
  cuda::DeviceExperts<Stored> experts_{device_, weights_, arena_, products_};
  ExpertsId id_;
  VectorId norm_;
  ActivationId residual_;
};

std::vector<float> residual_of(int32_t tokens, uint32_t seed = 1) {
  Random random(seed);
  return random.floats(tokens * kWidth, -2, 2);
}

TEST(DeviceExperts, AddWhatTheyAddOnTheCpu) {
  for (const bool sums_to_one : {true, false}) {
    const Layer layer(sums_to_one);
    LayerOnDevice<float> on_device(layer, cuda::Element::kF32);
    for (const int32_t tokens : {1, 3, kTokensMax}) {
      const std::vector<float> residual = residual_of(tokens);
      const std::vector<float> expected = on_cpu(layer, residual);
      const std::vector<float> got = on_device.run(residual);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], expected[i], 1e-4F * (1 + std::abs(expected[i]))) << tokens << " tokens, element " << i;
      }
    }
  }
}

// Rounded inputs of the router decide otherwise between experts of close scores, so only tokens that are sure of theirs
// are held to the CPU's: those are most.
TEST(DeviceExperts, AddTheSameInBf16ButForItsRounding) {
  const Layer layer(true);
  LayerOnDevice<gpu::Bf16> on_device(layer, cuda::Element::kBf16);
  const std::vector<float> residual = residual_of(kTokensMax);
  const std::vector<float> expected = on_cpu(layer, residual);
  const std::vector<float> got = on_device.run(residual);
  int32_t sure = 0;
  for (size_t first = 0; first < got.size(); first += kWidth) {
    if (layer.margin(&residual[first]) < 0.05) continue;
    ++sure;
    double error = 0;
    double added = 0;
    for (size_t i = first; i < first + kWidth; ++i) {
      error += std::pow(double{got[i]} - double{expected[i]}, 2);
      added += std::pow(double{expected[i]} - double{residual[i]}, 2);
    }
    EXPECT_LT(std::sqrt(error / added), 0.01) << "token " << first / kWidth;
  }
  EXPECT_GT(sure, kTokensMax * 3 / 4);
}

// The tiles of a crowd are large ones, of a token alone small.
TEST(DeviceExperts, GiveATokenTheSameAloneAndInACrowd) {
  const Layer layer(true);
  LayerOnDevice<gpu::Bf16> on_device(layer, cuda::Element::kBf16);
  const std::vector<float> residual = residual_of(kTokensMax);
  const std::vector<float> crowd = on_device.run(residual);
  for (size_t first = 0; first < crowd.size(); first += 7 * kWidth) {
    const std::vector<float> alone = on_device.run({&residual[first], &residual[first] + kWidth});
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), &crowd[first])) << "token " << first / kWidth;
  }
}

TEST(DeviceExperts, TakeOtherExpertsInARecordingThanWhenItWasMade) {
  const Layer layer(true);
  LayerOnDevice<gpu::Bf16> on_device(layer, cuda::Element::kBf16);
  constexpr int32_t kTokens = 4;
  on_device.put(residual_of(kTokens, 2));
  const int64_t allocations = on_device.device().allocation_count();
  on_device.prepare(kTokens);
  ASSERT_TRUE(on_device.device().begin_recording().ok());
  on_device.launch(kTokens);
  const auto graph = on_device.device().end_recording().value();
  for (const uint32_t seed : {3U, 4U, 5U}) {
    const std::vector<float> residual = residual_of(kTokens, seed);
    const std::vector<float> direct = on_device.run(residual);
    on_device.put(residual);
    ASSERT_TRUE(on_device.device().run(*graph).ok());
    EXPECT_EQ(on_device.take(residual.size()), direct);
  }
  EXPECT_EQ(on_device.device().allocation_count(), allocations);
}

TEST(DeviceExperts, StayBf16WhereOtherMatricesAreRounded) {
  const Layer layer(true);
  LayerOnDevice<gpu::Bf16> rounded(layer, cuda::Element::kFp8);
  LayerOnDevice<gpu::Bf16> whole(layer, cuda::Element::kBf16);
  for (const cuda::DeviceMatrix& matrix : rounded.weights().matrices()) {
    EXPECT_EQ(matrix.element, cuda::Element::kBf16);
  }
  const std::vector<float> residual = residual_of(9);
  EXPECT_EQ(rounded.run(residual), whole.run(residual));
}

TEST(DeviceExperts, AreRefusedWhereTheyAreTooMany) {
  cuda::HostDevice device(int64_t{1} << 20);
  cuda::DeviceWeights weights(device, {});
  const cuda::ActivationArena arena;
  const cuda::MatrixProducts<gpu::Bf16> products(device, weights, arena, 0, 0);
  cuda::DeviceExperts<gpu::Bf16> experts(device, weights, arena, products);
  Experts many;
  many.per_token = 1;
  many.downs.resize(513);
  const auto refused = experts.add(many);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.status().message(), "513 experts can't be had on CUDA, 512 at most");
}

}  // namespace
}  // namespace sluice::engine
