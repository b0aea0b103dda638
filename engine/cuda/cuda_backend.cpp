#include "engine/cuda/cuda_backend.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/cuda/device_attention.h"
#include "engine/cuda/device_sampler.h"
#include "engine/cuda/device_weights.h"
#include "engine/cuda/kernels/embed.cuh"
#include "engine/cuda/kernels/gate.cuh"
#include "engine/cuda/kernels/rms_norm.cuh"
#include "engine/cuda/kernels/rows.cuh"
#include "engine/cuda/step_inputs.h"
#include "engine/cuda/step_status.h"

namespace sluice::engine {
namespace cuda {
namespace {

struct DeviceActivation {
  int32_t tokens_max = 0;
  int32_t width = 0;
  DeviceBuffer values;  // float [tokens_max, width]

  float* data() const { return values.as<float>(); }
};

/// `Stored` is how matrices are kept and what goes into products.
template <typename Stored>
class CudaBackend final : public Backend {
 public:
  CudaBackend(Device& device, Element element)
      : device_(device), weights_(device, element), inputs_(device), attention_(device, element), sampler_(device) {}

  std::string description() const override { return device_.description(); }
  Result<MatrixId> add_matrix(std::span<const StoredTensor* const> parts) override;
  MatrixSize matrix_size(MatrixId matrix) const override;
  Result<VectorId> add_vector(std::vector<float> values) override { return weights_.add_vector(values); }
  Result<ActivationId> add_activation(int32_t tokens_max, int32_t width) override;
  RopeId add_rope(const RopeParams& params) override { return attention_.add_rope(params); }
  Result<ExpertsId> add_experts(Experts experts, int32_t tokens_max) override;
  Status add_cache(const KvLayout& layout, int32_t block_count) override;
  MachineLimits measure_limits(const Clock&) override { return {}; }

  void write(ActivationId to, std::span<const float> values) override;
  void read(ActivationId from, std::span<float> values) override;
  void begin_step(const Batch& batch) override;
  void embed(ActivationId out, MatrixId table, float scale) override;
  void norm_matmul(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId matrix, VectorId bias) override;
  void attend(ActivationId out, ActivationId qkv, const AttentionParams& params) override;
  void matmul_add(ActivationId residual, ActivationId in, MatrixId matrix) override;
  void matmul_norm_add(ActivationId residual, ActivationId in, MatrixId matrix, const RmsNorm& norm,
                       ActivationId product) override;
  void norm_gated(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId gate_up,
                  GateActivation activation_kind) override;
  void norm_experts_add(ActivationId, const RmsNorm&, ExpertsId) override { SLUICE_CHECK(false && "no experts exist"); }
  Result<StepOutput> sample(ActivationId in, const RmsNorm& norm, MatrixId head) override;

 private:
  const DeviceActivation& activation(ActivationId id) const { return activations_.at(static_cast<size_t>(id.index)); }
  NormWeight norm_weight(const RmsNorm& norm) const { return {weights_.values_of(norm.weight), norm.epsilon}; }
  void normalize(const float* in, const RmsNorm& norm, int32_t rows, int32_t width);
  void take(const DeviceActivation& in);
  void multiply(MatrixId matrix, int32_t rows, const float* bias, float* out, bool adds = false);

  Device& device_;
  DeviceWeights weights_;
  StepInputs inputs_;
  DeviceAttention attention_;
  DeviceSampler sampler_;
  std::vector<DeviceActivation> activations_;
  DeviceBuffer columns_;  // Stored [tokens_max, width of the widest activation]: what goes into a product
  DeviceBuffer gate_up_;  // float [tokens_max, rows of the widest matrix of two parts]
  int32_t tokens_max_ = 0;
  int32_t gate_up_width_ = 0;

  const Batch* batch_ = nullptr;
  StepStatus status_;
};

Status grow(Device& device, DeviceBuffer& buffer, int64_t bytes, const std::string& purpose) {
  if (bytes <= buffer.bytes()) return {};
  buffer = DeviceBuffer();
  SLUICE_ASSIGN_OR_RETURN(buffer, DeviceBuffer::allocate(device, bytes, purpose));
  return {};
}

template <typename Stored>
Result<MatrixId> CudaBackend<Stored>::add_matrix(std::span<const StoredTensor* const> parts) {
  SLUICE_ASSIGN_OR_RETURN(const MatrixId id, weights_.add_matrix(parts));
  const DeviceMatrix& matrix = weights_.matrix(id);
  if (matrix.parts == 2) gate_up_width_ = std::max(gate_up_width_, matrix.rows);
  SLUICE_RETURN_IF_ERROR(sampler_.reserve({matrix.rows, matrix.length}));  // any of them may be the head
  return id;
}

template <typename Stored>
MatrixSize CudaBackend<Stored>::matrix_size(MatrixId matrix) const {
  const DeviceMatrix& stored = weights_.matrix(matrix);
  return {stored.rows, stored.length, stored.elements.bytes()};
}

template <typename Stored>
Result<ActivationId> CudaBackend<Stored>::add_activation(int32_t tokens_max, int32_t width) {
  DeviceActivation made{.tokens_max = tokens_max, .width = width, .values = {}};
  const int64_t elements = int64_t{tokens_max} * width;
  constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));
  SLUICE_ASSIGN_OR_RETURN(made.values, DeviceBuffer::allocate(device_, elements * kFloatBytes, "activations"));
  const int64_t columns = int64_t{std::max(tokens_max, DeviceSampler::kRowsMax)} * width;
  SLUICE_RETURN_IF_ERROR(
      grow(device_, columns_, columns * static_cast<int64_t>(sizeof(Stored)), "the input of products"));
  activations_.push_back(std::move(made));
  tokens_max_ = std::max(tokens_max_, tokens_max);
  return ActivationId{static_cast<int32_t>(activations_.size()) - 1};
}

template <typename Stored>
Result<ExpertsId> CudaBackend<Stored>::add_experts(Experts, int32_t) {
  return failed_precondition("models with experts don't run on CUDA yet; use --device cpu");
}

// Called when the weights and activations are in.
template <typename Stored>
Status CudaBackend<Stored>::add_cache(const KvLayout& layout, int32_t block_count) {
  const int64_t gate_up_bytes = int64_t{tokens_max_} * gate_up_width_ * static_cast<int64_t>(sizeof(float));
  SLUICE_RETURN_IF_ERROR(grow(device_, gate_up_, gate_up_bytes, "activations"));
  return attention_.add_cache(layout, block_count, tokens_max_);
}

template <typename Stored>
void CudaBackend<Stored>::write(ActivationId to, std::span<const float> values) {
  SLUICE_CHECK(static_cast<int64_t>(values.size_bytes()) <= activation(to).values.bytes());
  status_.add(device_.copy_in(activation(to).data(), values.data(), static_cast<int64_t>(values.size_bytes())));
}

template <typename Stored>
void CudaBackend<Stored>::read(ActivationId from, std::span<float> values) {
  SLUICE_CHECK(static_cast<int64_t>(values.size_bytes()) <= activation(from).values.bytes());
  status_.add(device_.copy_out(values.data(), activation(from).data(), static_cast<int64_t>(values.size_bytes())));
}

template <typename Stored>
void CudaBackend<Stored>::begin_step(const Batch& batch) {
  SLUICE_CHECK(batch.token_count() <= tokens_max_);
  batch_ = &batch;
  status_.begin();
  status_.add(inputs_.upload(batch));
  attention_.begin_step(batch, inputs_, status_);
}

template <typename Stored>
void CudaBackend<Stored>::embed(ActivationId out, MatrixId table, float scale) {
  const DeviceMatrix& matrix = weights_.matrix(table);
  SLUICE_CHECK(matrix.length == activation(out).width);
  status_.add_launch(launch_embed(EmbedArgs<Stored, float>{.table = matrix.elements.as<const Stored>(),
                                                           .token_ids = inputs_.token_ids(),
                                                           .out = activation(out).data(),
                                                           .tokens = batch_->token_count(),
                                                           .width = matrix.length,
                                                           .scale = scale},
                                  device_.stream()),
                     "embed");
}

/// columns = rms_norm(in)
template <typename Stored>
void CudaBackend<Stored>::normalize(const float* in, const RmsNorm& norm, int32_t rows, int32_t width) {
  status_.add_launch(
      launch_rms_norm(
          RmsNormArgs<float, Stored>{
              .in = in, .norm = norm_weight(norm), .out = columns_.as<Stored>(), .tokens = rows, .width = width},
          device_.stream()),
      "rms_norm");
}

/// columns = in
template <typename Stored>
void CudaBackend<Stored>::take(const DeviceActivation& in) {
  const int64_t count = int64_t{batch_->token_count()} * in.width;
  status_.add_launch(launch_convert(columns_.as<Stored>(), in.data(), count, device_.stream()), "convert");
}

/// out (+)= columns * matrix (+ bias)
template <typename Stored>
void CudaBackend<Stored>::multiply(MatrixId matrix, int32_t rows, const float* bias, float* out, bool adds) {
  const DeviceMatrix& stored = weights_.matrix(matrix);
  status_.add(device_.multiply({.rows = rows,
                                .outputs = stored.rows,
                                .inputs = stored.length,
                                .element = weights_.element(),
                                .in = columns_.as<void>(),
                                .matrix = stored.elements.as<void>(),
                                .bias = bias,
                                .out = out,
                                .adds = adds}));
}

template <typename Stored>
void CudaBackend<Stored>::norm_matmul(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId matrix,
                                      VectorId bias) {
  SLUICE_CHECK(weights_.matrix(matrix).rows == activation(out).width);
  SLUICE_CHECK(weights_.matrix(matrix).length == activation(in).width);
  normalize(activation(in).data(), norm, batch_->token_count(), activation(in).width);
  multiply(matrix, batch_->token_count(), weights_.values_of(bias), activation(out).data());
}

template <typename Stored>
void CudaBackend<Stored>::attend(ActivationId out, ActivationId qkv, const AttentionParams& params) {
  attention_.attend({.params = params,
                     .query_norm = norm_weight(params.query_norm),
                     .key_norm = norm_weight(params.key_norm),
                     .qkv = activation(qkv).data(),
                     .out = activation(out).data()},
                    *batch_, inputs_, status_);
}

template <typename Stored>
void CudaBackend<Stored>::matmul_add(ActivationId residual, ActivationId in, MatrixId matrix) {
  SLUICE_CHECK(weights_.matrix(matrix).rows == activation(residual).width);
  SLUICE_CHECK(weights_.matrix(matrix).length == activation(in).width);
  take(activation(in));
  multiply(matrix, batch_->token_count(), nullptr, activation(residual).data(), true);
}

template <typename Stored>
void CudaBackend<Stored>::matmul_norm_add(ActivationId residual, ActivationId in, MatrixId matrix, const RmsNorm& norm,
                                          ActivationId product) {
  SLUICE_CHECK(weights_.matrix(matrix).rows == activation(residual).width);
  SLUICE_CHECK(weights_.matrix(matrix).length == activation(in).width);
  take(activation(in));
  multiply(matrix, batch_->token_count(), nullptr, activation(product).data());
  status_.add_launch(launch_add_rms_norm(AddRmsNormArgs<float, float>{.residual = activation(residual).data(),
                                                                      .added = activation(product).data(),
                                                                      .added_norm = norm_weight(norm),
                                                                      .norm = {},
                                                                      .out = nullptr,
                                                                      .tokens = batch_->token_count(),
                                                                      .width = activation(residual).width},
                                         device_.stream()),
                     "add_rms_norm");
}

template <typename Stored>
void CudaBackend<Stored>::norm_gated(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId gate_up,
                                     GateActivation activation_kind) {
  SLUICE_CHECK(weights_.matrix(gate_up).rows == 2 * activation(out).width);
  SLUICE_CHECK(weights_.matrix(gate_up).length == activation(in).width);
  normalize(activation(in).data(), norm, batch_->token_count(), activation(in).width);
  multiply(gate_up, batch_->token_count(), nullptr, gate_up_.as<float>());
  status_.add_launch(launch_gate(GateArgs<float, float>{.gate_up = gate_up_.as<const float>(),
                                                        .out = activation(out).data(),
                                                        .tokens = batch_->token_count(),
                                                        .width = activation(out).width,
                                                        .activation = activation_kind},
                                 device_.stream()),
                     "gate");
}

template <typename Stored>
Result<StepOutput> CudaBackend<Stored>::sample(ActivationId in, const RmsNorm& norm, MatrixId head) {
  const int32_t width = activation(in).width;
  const DeviceMatrix& matrix = weights_.matrix(head);
  SLUICE_CHECK(matrix.length == width);
  const auto compute_logits = [&](const int32_t* tokens, int32_t rows, float* gathered, float* logits) {
    status_.add_launch(launch_gather_rows(gathered, activation(in).data(), tokens, rows, width, device_.stream()),
                       "gather_rows");
    normalize(gathered, norm, rows, width);
    multiply(head, rows, nullptr, logits);
  };
  Result<StepOutput> output = sampler_.sample(*batch_, inputs_, {matrix.rows, width}, compute_logits, status_);
  batch_ = nullptr;
  if (!status_.first().ok()) return status_.first();
  return output;
}

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend(cuda::Device& device, const CudaOptions& options) {
  if (options.element == cuda::Element::kF32) {
    return std::make_unique<cuda::CudaBackend<float>>(device, options.element);
  }
  return std::make_unique<cuda::CudaBackend<gpu::Bf16>>(device, options.element);
}

}  // namespace sluice::engine
