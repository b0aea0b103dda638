#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/backend.h"

namespace sluice::bench {

/// Passes every operation on to another backend and notes how long it took. One caller thread.
class TracedBackend final : public engine::Backend {
 public:
  enum class Op { kBegin, kEmbed, kQkv, kAttend, kMatmulAdd, kGated, kExperts, kSample };
  static constexpr size_t kOpCount = 8;
  /// By Op; for people.
  static constexpr std::array<const char*, kOpCount> kOpNames = {"begin",      "embed", "qkv",     "attend",
                                                                 "matmul_add", "gated", "experts", "sample"};
  using Times = std::array<Duration, kOpCount>;

  /// `clock` is lent and outlives the backend.
  TracedBackend(std::unique_ptr<engine::Backend> traced, const Clock& clock)
      : traced_(std::move(traced)), clock_(clock) {}

  /// Spent in each operation since the last call.
  Times take_times();

  std::string description() const override { return traced_->description(); }
  Result<engine::MatrixId> add_matrix(std::span<const engine::StoredTensor* const> parts) override;
  engine::MatrixSize matrix_size(engine::MatrixId matrix) const override { return traced_->matrix_size(matrix); }
  int64_t unread_bytes() const override { return traced_->unread_bytes(); }
  Status finish_weights(const engine::UnreadWatch& watch) override { return traced_->finish_weights(watch); }
  Result<engine::VectorId> add_vector(std::vector<float> values) override {
    return traced_->add_vector(std::move(values));
  }
  Result<engine::ActivationId> add_activation(int32_t tokens_max, int32_t width) override;
  engine::RopeId add_rope(const engine::RopeParams& params) override;
  Result<engine::ExpertsId> add_experts(engine::Experts experts, int32_t tokens_max) override {
    return traced_->add_experts(std::move(experts), tokens_max);
  }
  Status add_cache(const engine::KvLayout& layout, int32_t block_count) override;
  engine::MachineLimits measure_limits(const Clock& clock) override { return traced_->measure_limits(clock); }
  void write(engine::ActivationId to, std::span<const float> values) override;
  void read(engine::ActivationId from, std::span<float> values) override;
  engine::StepStart begin_step(const engine::Batch& batch) override;
  void embed(engine::ActivationId out, engine::MatrixId table, float scale) override;
  void norm_matmul(engine::ActivationId out, engine::ActivationId in, const engine::RmsNorm& norm,
                   engine::MatrixId matrix, engine::VectorId bias) override;
  void attend(engine::ActivationId out, engine::ActivationId qkv, const engine::AttentionParams& params) override;
  void matmul_add(engine::ActivationId residual, engine::ActivationId in, engine::MatrixId matrix) override;
  void matmul_norm_add(engine::ActivationId residual, engine::ActivationId in, engine::MatrixId matrix,
                       const engine::RmsNorm& norm, engine::ActivationId product) override;
  void norm_gated(engine::ActivationId out, engine::ActivationId in, const engine::RmsNorm& norm,
                  engine::MatrixId gate_up, engine::GateActivation activation) override;
  void norm_experts_add(engine::ActivationId residual, const engine::RmsNorm& norm, engine::ExpertsId experts) override;
  Status sample(engine::ActivationId in, const engine::RmsNorm& norm, engine::MatrixId head) override;
  Result<engine::StepOutput> collect() override { return traced_->collect(); }

 private:
  template <typename Work>
  auto timed(Op op, const Work& work);

  std::unique_ptr<engine::Backend> traced_;
  const Clock& clock_;
  Times times_{};
};

}  // namespace sluice::bench
