#include "engine/cuda/cuda_backend.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/cuda/activation_arena.h"
#include "engine/cuda/device_attention.h"
#include "engine/cuda/device_experts.h"
#include "engine/cuda/device_limits.h"
#include "engine/cuda/device_weights.h"
#include "engine/cuda/kernels/embed.cuh"
#include "engine/cuda/kernels/gate.cuh"
#include "engine/cuda/kernels/rms_norm.cuh"
#include "engine/cuda/matrix_products.h"
#include "engine/cuda/step_graphs.h"
#include "engine/cuda/step_inputs.h"
#include "engine/cuda/step_sampler.h"
#include "engine/cuda/step_shape.h"
#include "engine/cuda/step_status.h"

namespace sluice::engine {
namespace cuda {
namespace {

constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));

/// `Stored` is how matrices are kept and what goes into products, but for those in fp8, which Stored = Bf16 may have,
/// and those in blocks.
template <typename Stored>
class CudaBackend final : public Backend {
 public:
  /// `owned` is the device, or nothing where somebody else owns it.
  CudaBackend(std::unique_ptr<Device> owned, Device& device, const CudaOptions& options)
      : owned_(std::move(owned)),
        device_(device),
        weights_(device, {options.element, options.keeps_blocks}, {.threads = options.load_threads}),
        inputs_(device),
        products_(device, weights_, arena_, options.gemv_rows_max, options.numbers_bytes_max),
        experts_(device, weights_, arena_, products_),
        attention_(device, options.element == Element::kFp8 ? Element::kBf16 : options.element),
        sampler_(device, weights_, arena_, inputs_, products_) {}

  std::string description() const override { return device_.description(); }
  std::optional<int64_t> cache_bytes_max(const KvLayout& layout) const override;
  Result<MatrixId> add_matrix(std::span<const StoredTensor* const> parts) override {
    return weights_.add_matrix(parts);
  }
  int64_t unread_bytes() const override { return weights_.unread_bytes(); }
  Status finish_weights(const UnreadWatch& watch) override { return weights_.finish(watch); }
  MatrixSize matrix_size(MatrixId matrix) const override;
  Result<VectorId> add_vector(std::vector<float> values) override { return weights_.add_vector(values); }
  Result<ActivationId> add_activation(int32_t tokens_max, int32_t width) override {
    return arena_.add(tokens_max, width);
  }
  RopeId add_rope(const RopeParams& params) override { return attention_.add_rope(params); }
  Result<ExpertsId> add_experts(Experts experts, int32_t /*tokens_max*/) override {
    return experts_.add(std::move(experts));
  }
  Status add_cache(const KvLayout& layout, int32_t block_count) override;
  /// All zero when the device has no memory left to measure with.
  MachineLimits measure_limits(const Clock& clock) override {
    const Result<MachineLimits> limits = measure_device_limits(device_, clock);
    return limits.ok() ? *limits : MachineLimits{};
  }
  std::vector<MemoryUse> memory_uses() const override;

  int32_t rehearsal_count() const override;
  Status begin_rehearsal(int32_t index) override;
  Status end_rehearsal() override;

  void write(ActivationId to, std::span<const float> values) override;
  void read(ActivationId from, std::span<float> values) override;
  StepStart begin_step(const Batch& batch) override;
  void embed(ActivationId out, MatrixId table, float scale) override;
  void norm_matmul(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId matrix, VectorId bias) override;
  void attend(ActivationId out, ActivationId qkv, const AttentionParams& params) override;
  void matmul_add(ActivationId residual, ActivationId in, MatrixId matrix) override;
  void matmul_norm_add(ActivationId residual, ActivationId in, MatrixId matrix, const RmsNorm& norm,
                       ActivationId product) override;
  void norm_gated(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId gate_up,
                  GateActivation activation_kind) override;
  void norm_experts_add(ActivationId residual, const RmsNorm& norm, ExpertsId experts) override;
  Status sample(ActivationId in, const RmsNorm& norm, MatrixId head) override;
  Result<StepOutput> collect() override { return sampler_.take(); }
  int32_t steps_ahead() const override { return 1; }

 private:
  enum class Phase {
    kLoading,    ///< until the operations of a step have been told
    kPlanning,   ///< they are being told
    kPlanned,    ///< activations have their memory
    kReady,      ///< and so has everything else
    kRecording,  ///< operations are kept for later
  };

  NormWeight norm_weight(const RmsNorm& norm) const { return {weights_.values_of(norm.weight), norm.epsilon}; }
  StepRoom step_room(const KvLayout& layout, int64_t block_count) const;
  bool skips(const OperationMemory& memory);
  /// Other devices compute parts of the model.
  bool is_shared() const { return device_.rank_count() > 1; }
  /// Of products whose inputs are rows of `width`.
  ScratchNeed columns_for(int32_t rows, int32_t width) const {
    return {Scratch::kColumns, MatrixProducts<Stored>::column_bytes(rows, width)};
  }
  /// Of products with the matrix.
  ScratchNeed numbers_for(int32_t rows, MatrixId matrix) const {
    return {Scratch::kNumbers, products_.number_bytes(rows, matrix)};
  }
  /// Of sums of `width` to which other ranks add theirs.
  ScratchNeed product_for(int32_t width) const {
    return {Scratch::kProduct, is_shared() ? int64_t{arena_.tokens_max()} * width * kFloatBytes : 0};
  }
  void sum_over_ranks(float* product, int32_t width);
  void add(ActivationId residual, const float* added, const NormWeight& norm);

  const std::unique_ptr<Device> owned_;  // first, as all others give their memory back to it
  Device& device_;
  DeviceWeights weights_;
  ActivationArena arena_;
  StepInputs inputs_;
  MatrixProducts<Stored> products_;
  DeviceExperts<Stored> experts_;
  DeviceAttention attention_;
  StepSampler<Stored> sampler_;
  StepGraphs graphs_;
  std::vector<MemoryUse> memory_uses_;
  int64_t free_before_recording_ = 0;

  Phase phase_ = Phase::kLoading;
  size_t recorded_ = 0;  ///< which of graphs_.shapes() is being recorded
  StepShape shape_;      ///< of the step
  const Batch* batch_ = nullptr;
  bool is_replayed_ = false;  ///< the step's logits come from a graph
  StepStatus status_;
};

template <typename Stored>
MatrixSize CudaBackend<Stored>::matrix_size(MatrixId matrix) const {
  const DeviceMatrix& stored = weights_.matrix(matrix);
  return {stored.rows, stored.length, stored.bytes()};
}

// Called when the weights are in and the activations planned: everything else is allocated here, and nothing later.
template <typename Stored>
Status CudaBackend<Stored>::add_cache(const KvLayout& layout, int32_t block_count) {
  SLUICE_CHECK(phase_ == Phase::kPlanned);
  const int64_t before = device_.memory().free;
  SLUICE_RETURN_IF_ERROR(inputs_.allocate(step_room(layout, block_count)));
  const int64_t with_inputs = device_.memory().free;
  SLUICE_RETURN_IF_ERROR(attention_.add_cache(layout, block_count, arena_.tokens_max()));
  free_before_recording_ = device_.memory().free;
  memory_uses_.push_back({"inputs of a step", before - with_inputs});
  memory_uses_.push_back({"KV cache", with_inputs - free_before_recording_});
  graphs_.plan(arena_.tokens_max(), std::max(layout.context_length, 1));
  int32_t prepared = 0;
  for (const StepShape& shape : graphs_.shapes()) {  // by rows
    if (shape.rows != prepared) products_.prepare(shape.rows);
    prepared = shape.rows;
  }
  phase_ = Phase::kReady;
  return {};
}

template <typename Stored>
StepRoom CudaBackend<Stored>::step_room(const KvLayout& layout, int64_t block_count) const {
  const int32_t tokens_max = arena_.tokens_max();
  return {.tokens = tokens_max,
          .samples = sampler_.samples_max(),
          .groups = layout.groups.count(),
          .table_entries = std::min(tokens_max, layout.rows_max) * std::min(block_count, layout.context_blocks_max())};
}

template <typename Stored>
std::optional<int64_t> CudaBackend<Stored>::cache_bytes_max(const KvLayout& layout) const {
  StepGraphs graphs;
  graphs.plan(std::max(arena_.tokens_max(), 1), std::max(layout.context_length, 1));
  const int64_t other = device_.code_bytes_max() +
                        StepInputs::bytes_for(step_room(layout, layout.context_blocks_max())) +
                        attention_.angle_bytes(arena_.tokens_max()) +
                        static_cast<int64_t>(graphs.shapes().size()) * StepGraphs::kGraphBytes;
  return std::max<int64_t>(device_.memory().free - other, 0);
}

template <typename Stored>
std::vector<MemoryUse> CudaBackend<Stored>::memory_uses() const {
  std::vector<MemoryUse> uses = memory_uses_;
  const int64_t free = device_.memory().free;
  if (phase_ == Phase::kReady) uses.push_back({"recorded steps", free_before_recording_ - free});
  uses.push_back({"free", free});
  return uses;
}

template <typename Stored>
int32_t CudaBackend<Stored>::rehearsal_count() const {
  if (phase_ == Phase::kLoading) return 1;
  return phase_ == Phase::kReady ? static_cast<int32_t>(graphs_.shapes().size()) : 0;
}

template <typename Stored>
Status CudaBackend<Stored>::begin_rehearsal(int32_t index) {
  status_.begin();
  if (phase_ == Phase::kLoading) {
    phase_ = Phase::kPlanning;
    return {};
  }
  SLUICE_CHECK(phase_ == Phase::kReady);
  phase_ = Phase::kRecording;
  recorded_ = static_cast<size_t>(index);
  shape_ = graphs_.shapes()[recorded_];
  inputs_.lay_out(shape_.tokens);
  SLUICE_RETURN_IF_ERROR(device_.begin_recording());
  attention_.begin_step(shape_, inputs_, status_);
  return {};
}

template <typename Stored>
Status CudaBackend<Stored>::end_rehearsal() {
  if (phase_ == Phase::kRecording) {
    phase_ = Phase::kReady;
    Result<std::unique_ptr<DeviceGraph>> graph = device_.end_recording();
    if (!status_.first().ok()) return status_.first();
    if (!graph.ok()) return graph.status();
    graphs_.keep(recorded_, std::move(graph).value());
    return {};
  }
  SLUICE_CHECK(phase_ == Phase::kPlanning && sampler_.is_planned());
  SLUICE_RETURN_IF_ERROR(weights_.allocate());
  SLUICE_RETURN_IF_ERROR(experts_.allocate());
  memory_uses_.push_back({"weights", weights_.bytes() + experts_.bytes()});
  SLUICE_RETURN_IF_ERROR(arena_.allocate(device_));
  memory_uses_.push_back({"activations", arena_.bytes()});
  const int64_t before = device_.memory().free;
  SLUICE_RETURN_IF_ERROR(sampler_.allocate());
  memory_uses_.push_back({"sampling", before - device_.memory().free});
  phase_ = Phase::kPlanned;
  return {};
}

/// In a rehearsal before there is memory, an operation only tells what it needs. After a failure, nothing is asked for
/// any more.
template <typename Stored>
bool CudaBackend<Stored>::skips(const OperationMemory& memory) {
  if (phase_ == Phase::kPlanning) arena_.plan(memory);
  return phase_ == Phase::kPlanning || !status_.first().ok();
}

template <typename Stored>
void CudaBackend<Stored>::write(ActivationId to, std::span<const float> values) {
  SLUICE_CHECK(static_cast<int64_t>(values.size()) <= int64_t{arena_.tokens_max()} * arena_.width(to));
  status_.add(device_.copy_in(arena_.data(to), values.data(), static_cast<int64_t>(values.size_bytes())));
}

template <typename Stored>
void CudaBackend<Stored>::read(ActivationId from, std::span<float> values) {
  SLUICE_CHECK(static_cast<int64_t>(values.size()) <= int64_t{arena_.tokens_max()} * arena_.width(from));
  status_.add(device_.copy_out(values.data(), arena_.data(from), static_cast<int64_t>(values.size_bytes())));
}

template <typename Stored>
StepStart CudaBackend<Stored>::begin_step(const Batch& batch) {
  SLUICE_CHECK(phase_ == Phase::kReady && batch.token_count() <= arena_.tokens_max());
  batch_ = &batch;
  shape_ = StepShape::of(batch);
  status_.begin();
  device_.begin_range([this] { return shape_.name(); });
  const StepGraphs::Recorded recorded = graphs_.find(shape_);
  status_.add(inputs_.upload(batch, recorded.rows));
  if (!batch.drawn_before.empty()) sampler_.take_drawn(shape_.decode_rows, status_);
  is_replayed_ = recorded.graph != nullptr;
  if (is_replayed_ && status_.first().ok()) status_.add(device_.run(*recorded.graph));
  if (is_replayed_) return StepStart::kDone;
  attention_.begin_step(shape_, inputs_, status_);
  return StepStart::kCompute;
}

template <typename Stored>
void CudaBackend<Stored>::embed(ActivationId out, MatrixId table, float scale) {
  const DeviceMatrix& matrix = weights_.matrix(table);
  SLUICE_CHECK(matrix.length == arena_.width(out));
  if (phase_ == Phase::kPlanning) weights_.keep_unrounded(table);
  if (skips({.uses = {}, .writes = {out}, .scratch = {}})) return;
  status_.add_launch(launch_embed(EmbedArgs<Stored, float>{.table = matrix.elements.as<const Stored>(),
                                                           .token_ids = inputs_.token_ids(),
                                                           .out = arena_.data(out),
                                                           .tokens = shape_.tokens,
                                                           .width = matrix.length,
                                                           .scale = scale},
                                  device_.stream()),
                     "embed");
}

template <typename Stored>
void CudaBackend<Stored>::norm_matmul(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId matrix,
                                      VectorId bias) {
  const int32_t width = arena_.width(in);
  SLUICE_CHECK(weights_.matrix(matrix).rows == arena_.width(out) && weights_.matrix(matrix).length == width);
  if (skips({.uses = {in},
             .writes = {out},
             .scratch = {columns_for(arena_.tokens_max(), width), numbers_for(arena_.tokens_max(), matrix)}}))
    return;
  products_.normalize(arena_.data(in), norm_weight(norm), shape_.tokens, matrix, status_);
  products_.multiply(matrix, shape_.tokens, {.out = arena_.data(out), .bias = weights_.values_of(bias)}, status_);
}

template <typename Stored>
void CudaBackend<Stored>::attend(ActivationId out, ActivationId qkv, const AttentionParams& params) {
  const int32_t width = arena_.width(out);
  const int32_t tokens_max = arena_.tokens_max();
  if (skips({.uses = {qkv},
             .writes = {out},
             .scratch = {
                 {Scratch::kQueries, int64_t{tokens_max} * width * static_cast<int64_t>(sizeof(Stored))},
                 {Scratch::kPartials, partials_bytes(tokens_max, params.head_count, width / params.head_count)}}}))
    return;
  attention_.attend({.params = params,
                     .query_norm = norm_weight(params.query_norm),
                     .key_norm = norm_weight(params.key_norm),
                     .qkv = arena_.data(qkv),
                     .out = arena_.data(out),
                     .queries = arena_.scratch<void>(Scratch::kQueries),
                     .partials = arena_.scratch<float>(Scratch::kPartials)},
                    shape_, inputs_, status_);
}

template <typename Stored>
void CudaBackend<Stored>::matmul_add(ActivationId residual, ActivationId in, MatrixId matrix) {
  const int32_t width = arena_.width(in);
  const int32_t rows = weights_.matrix(matrix).rows;
  SLUICE_CHECK(rows == arena_.width(residual) && weights_.matrix(matrix).length == width);
  if (skips({.uses = {residual, in},
             .writes = {},
             .scratch = {columns_for(arena_.tokens_max(), width), numbers_for(arena_.tokens_max(), matrix),
                         product_for(rows)}}))
    return;
  products_.take(arena_.data(in), shape_.tokens, matrix, status_);
  if (!is_shared())
    return products_.multiply(matrix, shape_.tokens, {.out = arena_.data(residual), .adds = true}, status_);
  auto* product = arena_.scratch<float>(Scratch::kProduct);
  products_.multiply(matrix, shape_.tokens, {.out = product}, status_);
  sum_over_ranks(product, rows);
  add(residual, product, {});
}

/// `product` is float [tokens, width].
template <typename Stored>
void CudaBackend<Stored>::sum_over_ranks(float* product, int32_t width) {
  if (is_shared()) status_.add(device_.all_reduce(product, int64_t{shape_.tokens} * width));
}

/// residual += added, or its norm where that has a weight
template <typename Stored>
void CudaBackend<Stored>::add(ActivationId residual, const float* added, const NormWeight& norm) {
  status_.add_launch(launch_add_rms_norm(AddRmsNormArgs<float, float>{.residual = arena_.data(residual),
                                                                      .added = added,
                                                                      .added_norm = norm,
                                                                      .norm = {},
                                                                      .out = nullptr,
                                                                      .tokens = shape_.tokens,
                                                                      .width = arena_.width(residual)},
                                         device_.stream()),
                     "add_rms_norm");
}

template <typename Stored>
void CudaBackend<Stored>::matmul_norm_add(ActivationId residual, ActivationId in, MatrixId matrix, const RmsNorm& norm,
                                          ActivationId product) {
  const int32_t width = arena_.width(in);
  SLUICE_CHECK(weights_.matrix(matrix).rows == arena_.width(residual) && weights_.matrix(matrix).length == width);
  if (skips({.uses = {residual, in},
             .writes = {product},
             .scratch = {columns_for(arena_.tokens_max(), width), numbers_for(arena_.tokens_max(), matrix)}}))
    return;
  products_.take(arena_.data(in), shape_.tokens, matrix, status_);
  products_.multiply(matrix, shape_.tokens, {.out = arena_.data(product)}, status_);
  sum_over_ranks(arena_.data(product), arena_.width(product));
  add(residual, arena_.data(product), norm_weight(norm));
}

template <typename Stored>
void CudaBackend<Stored>::norm_gated(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId gate_up,
                                     GateActivation activation_kind) {
  const int32_t width = arena_.width(in);
  const int32_t rows = weights_.matrix(gate_up).rows;
  SLUICE_CHECK(rows == 2 * arena_.width(out) && weights_.matrix(gate_up).length == width);
  if (skips({.uses = {in},
             .writes = {out},
             .scratch = {columns_for(arena_.tokens_max(), width),
                         numbers_for(arena_.tokens_max(), gate_up),
                         {Scratch::kGateUp, int64_t{arena_.tokens_max()} * rows * kFloatBytes}}}))
    return;
  products_.normalize(arena_.data(in), norm_weight(norm), shape_.tokens, gate_up, status_);
  auto* both = arena_.scratch<float>(Scratch::kGateUp);
  products_.multiply(gate_up, shape_.tokens, {.out = both}, status_);
  status_.add_launch(launch_gate(GateArgs<float, float>{.gate_up = both,
                                                        .out = arena_.data(out),
                                                        .tokens = shape_.tokens,
                                                        .width = arena_.width(out),
                                                        .activation = activation_kind},
                                 device_.stream()),
                     "gate");
}

template <typename Stored>
void CudaBackend<Stored>::norm_experts_add(ActivationId residual, const RmsNorm& norm, ExpertsId experts) {
  const int32_t width = arena_.width(residual);
  const int32_t tokens_max = arena_.tokens_max();
  const auto room = experts_.room(experts, tokens_max);
  if (skips({.uses = {residual},
             .writes = {},
             .scratch = {columns_for(tokens_max, width),
                         {Scratch::kRouting, room.routing},
                         {Scratch::kExpertGated, room.gated},
                         {Scratch::kExpertRows, room.rows},
                         product_for(width)}}))
    return;
  float* sum = is_shared() ? arena_.scratch<float>(Scratch::kProduct) : arena_.data(residual);
  experts_.run(experts, arena_.data(residual), norm_weight(norm), inputs_.slots(0), shape_.tokens, sum, status_);
  if (!is_shared()) return;
  sum_over_ranks(sum, width);
  add(residual, sum, {});
}

template <typename Stored>
Status CudaBackend<Stored>::sample(ActivationId in, const RmsNorm& norm, MatrixId head) {
  SLUICE_CHECK(weights_.matrix(head).length == arena_.width(in));
  const typename StepSampler<Stored>::Head of_step{in, norm_weight(norm), head};
  if (phase_ == Phase::kPlanning) {
    sampler_.plan(in, head);
  } else if (phase_ == Phase::kRecording) {
    sampler_.compute_logits(of_step, 0, shape_.rows, status_);
  } else {
    if (status_.first().ok()) sampler_.draw(of_step, batch_->samples, is_replayed_, status_);
    batch_ = nullptr;
    device_.end_range();
  }
  return status_.first();
}

}  // namespace
}  // namespace cuda

namespace {

std::unique_ptr<Backend> make_backend(std::unique_ptr<cuda::Device> owned, cuda::Device& device,
                                      const CudaOptions& options) {
  if (options.element == cuda::Element::kF32) {
    return std::make_unique<cuda::CudaBackend<float>>(std::move(owned), device, options);
  }
  return std::make_unique<cuda::CudaBackend<gpu::Bf16>>(std::move(owned), device, options);
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(cuda::Device& device, const CudaOptions& options) {
  return make_backend(nullptr, device, options);
}

std::unique_ptr<Backend> make_cuda_backend(std::unique_ptr<cuda::Device> device, const CudaOptions& options) {
  cuda::Device& lent = *device;
  return make_backend(std::move(device), lent, options);
}

}  // namespace sluice::engine
