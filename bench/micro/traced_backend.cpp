#include "bench/micro/traced_backend.h"

#include <utility>

namespace sluice::bench {

namespace {

/// Adds the time of its own life to a sum.
class Stopwatch {
 public:
  Stopwatch(const Clock& clock, Duration& sum) : clock_(clock), sum_(sum), began_(clock.now()) {}
  ~Stopwatch() { sum_ += clock_.now() - began_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  const Clock& clock_;
  Duration& sum_;
  const TimePoint began_;
};

}  // namespace

template <typename Work>
auto TracedBackend::timed(Op op, const Work& work) {
  const Stopwatch stopwatch(clock_, times_.at(static_cast<size_t>(op)));
  return work();
}

TracedBackend::Times TracedBackend::take_times() {
  return std::exchange(times_, {});
}

Result<engine::MatrixId> TracedBackend::add_matrix(std::span<const engine::StoredTensor* const> parts) {
  return traced_->add_matrix(parts);
}

Result<engine::ActivationId> TracedBackend::add_activation(int32_t tokens_max, int32_t width) {
  return traced_->add_activation(tokens_max, width);
}

engine::RopeId TracedBackend::add_rope(const engine::RopeParams& params) {
  return traced_->add_rope(params);
}

Status TracedBackend::add_cache(const engine::KvLayout& layout, int32_t block_count) {
  return traced_->add_cache(layout, block_count);
}

void TracedBackend::write(engine::ActivationId to, std::span<const float> values) {
  traced_->write(to, values);
}

void TracedBackend::read(engine::ActivationId from, std::span<float> values) {
  traced_->read(from, values);
}

engine::StepStart TracedBackend::begin_step(const engine::Batch& batch) {
  return timed(Op::kBegin, [&] { return traced_->begin_step(batch); });
}

void TracedBackend::embed(engine::ActivationId out, engine::MatrixId table, float scale) {
  timed(Op::kEmbed, [&] { traced_->embed(out, table, scale); });
}

void TracedBackend::norm_matmul(engine::ActivationId out, engine::ActivationId in, const engine::RmsNorm& norm,
                                engine::MatrixId matrix, engine::VectorId bias) {
  timed(Op::kQkv, [&] { traced_->norm_matmul(out, in, norm, matrix, bias); });
}

void TracedBackend::attend(engine::ActivationId out, engine::ActivationId qkv, const engine::AttentionParams& params) {
  timed(Op::kAttend, [&] { traced_->attend(out, qkv, params); });
}

void TracedBackend::matmul_add(engine::ActivationId residual, engine::ActivationId in, engine::MatrixId matrix) {
  timed(Op::kMatmulAdd, [&] { traced_->matmul_add(residual, in, matrix); });
}

void TracedBackend::matmul_norm_add(engine::ActivationId residual, engine::ActivationId in, engine::MatrixId matrix,
                                    const engine::RmsNorm& norm, engine::ActivationId product) {
  timed(Op::kMatmulAdd, [&] { traced_->matmul_norm_add(residual, in, matrix, norm, product); });
}

void TracedBackend::norm_gated(engine::ActivationId out, engine::ActivationId in, const engine::RmsNorm& norm,
                               engine::MatrixId gate_up, engine::GateActivation activation) {
  timed(Op::kGated, [&] { traced_->norm_gated(out, in, norm, gate_up, activation); });
}

void TracedBackend::norm_experts_add(engine::ActivationId residual, const engine::RmsNorm& norm,
                                     engine::ExpertsId experts) {
  timed(Op::kExperts, [&] { traced_->norm_experts_add(residual, norm, experts); });
}

Status TracedBackend::sample(engine::ActivationId in, const engine::RmsNorm& norm, engine::MatrixId head) {
  return timed(Op::kSample, [&] { return traced_->sample(in, norm, head); });
}

}  // namespace sluice::bench
