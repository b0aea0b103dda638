#include "engine/cpu/cpu_backend.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/cpu/activation.h"
#include "engine/cpu/attention_op.h"
#include "engine/cpu/available_threads.h"
#include "engine/cpu/column_buffer.h"
#include "engine/cpu/cpu_isa.h"
#include "engine/cpu/expert_op.h"
#include "engine/cpu/gated_product.h"
#include "engine/cpu/kernel_check.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/logit_store.h"
#include "engine/cpu/machine_limits.h"
#include "engine/cpu/matrix_product.h"
#include "engine/cpu/rank_sum.h"
#include "engine/cpu/rope_table.h"
#include "engine/cpu/thread_pool.h"
#include "engine/cpu/weight_store.h"
#include "engine/cpu/worker_memory.h"
#include "engine/sampler.h"

namespace sluice::engine {
namespace cpu {
namespace {

class CpuBackend final : public CountedBackend {
 public:
  CpuBackend(CpuIsa isa, int32_t threads, const Clock* clock, Communicator* communicator)
      : isa_(isa),
        kernels_(kernels_for(isa)),
        pool_(threads, clock),
        rank_sum_(communicator),
        columns_(kernels_),
        sample_columns_(kernels_),
        attention_(kernels_, pool_),
        experts_(kernels_, pool_, weights_, memories_, columns_, rank_sum_) {
    for (int32_t i = 0; i < threads; ++i) memories_.emplace_back(kernels_);
  }

  std::string description() const override;
  ThreadCounters thread_counters() const override { return pool_.counters(); }
  Result<MatrixId> add_matrix(std::span<const StoredTensor* const> parts) override;
  int64_t unread_bytes() const override { return 0; }
  Status finish_weights(const UnreadWatch&) override { return {}; }
  MatrixSize matrix_size(MatrixId matrix) const override;
  Result<VectorId> add_vector(std::vector<float> values) override { return weights_.add_vector(std::move(values)); }
  Result<ActivationId> add_activation(int32_t tokens_max, int32_t width) override;
  RopeId add_rope(const RopeParams& params) override;
  Result<ExpertsId> add_experts(Experts experts, int32_t tokens_max) override {
    return experts_.add(std::move(experts), tokens_max);
  }
  Status add_cache(const KvLayout& layout, int32_t block_count) override;

  MachineLimits measure_limits(const Clock& clock) override;

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
  Result<StepOutput> collect() override;

 private:
  Activation& activation(ActivationId id) { return activations_.at(static_cast<size_t>(id.index)); }
  WorkerMemory& memory(const ThreadPool::Worker& worker) { return memories_[static_cast<size_t>(worker.index())]; }
  template <typename SetColumn>
  const ColumnBuffer& make_columns(ThreadPool::Worker& worker, const PackedMatrix& matrix, const SetColumn& set);
  const ColumnBuffer& norm_columns(ThreadPool::Worker& worker, const PackedMatrix& matrix, Activation& in,
                                   const RmsNorm& norm);
  template <typename SetResult>
  void multiply_input(ThreadPool::Worker& worker, const PackedMatrix& matrix, Activation& in,
                      const SetResult& set_result);
  void add_summed(Activation& target, Activation& in, const PackedMatrix& matrix);
  void sample_tile(int32_t begin, Activation& in, const RmsNorm& norm, const PackedMatrix& head, StepOutput& output);

  const CpuIsa isa_;
  const Kernels& kernels_;
  ThreadPool pool_;
  std::vector<WorkerMemory> memories_;
  WeightStore weights_;
  std::vector<Activation> activations_;
  int32_t tokens_max_ = 0;  // of any activation
  RankSum rank_sum_;
  Activation product_;  // [tokens, width] of any activation; a rank's part of a sum
  std::vector<RopeTable> ropes_;
  ColumnBuffer columns_;         // of the step's tokens
  ColumnBuffer sample_columns_;  // of one tile of sample rows
  LogitStore logits_;            // of the same tile
  AttentionOp attention_;
  ExpertOp experts_;

  const Batch* batch_ = nullptr;
  StepOutput drawn_;  // by sample()
};

MatrixSize CpuBackend::matrix_size(MatrixId matrix) const {
  const PackedMatrix& packed = weights_.matrix(matrix);
  int64_t bytes = 0;
  for (const PackedPart& part : packed.parts) bytes += part.panel_count() * part.panel_bytes();
  return {packed.row_count, packed.length, bytes};
}

MachineLimits CpuBackend::measure_limits(const Clock& clock) {
  return cpu::measure_limits(pool_, isa_, weights_.matrix_memory(), clock);
}

std::string CpuBackend::description() const {
  const int32_t threads = pool_.thread_count();
  return "cpu " + std::string(cpu_isa_name(isa_)) + ", " + std::to_string(threads) +
         (threads == 1 ? " thread" : " threads");
}

Result<MatrixId> CpuBackend::add_matrix(std::span<const StoredTensor* const> parts) {
  SLUICE_ASSIGN_OR_RETURN(const MatrixId id, weights_.add_matrix(parts, pool_));
  // Any of them may be the head.
  SLUICE_RETURN_IF_ERROR(sample_columns_.reserve(kLogitRowsMax, weights_.matrix(id).length));
  SLUICE_RETURN_IF_ERROR(logits_.reserve(weights_.matrix(id).row_count));
  if (kernels_.prompt.exist()) {
    for (WorkerMemory& own : memories_) SLUICE_RETURN_IF_ERROR(own.products.reserve(weights_.matrix(id).length));
  }
  return id;
}

Result<ActivationId> CpuBackend::add_activation(int32_t tokens_max, int32_t width) {
  Activation made;
  made.tokens_max = tokens_max;
  made.width = width;
  const size_t bytes = static_cast<size_t>(tokens_max) * static_cast<size_t>(width) * sizeof(float);
  SLUICE_ASSIGN_OR_RETURN(made.values, HugeBuffer::allocate(bytes, "activations"));
  SLUICE_RETURN_IF_ERROR(columns_.reserve(tokens_max, width));
  for (WorkerMemory& own : memories_) SLUICE_RETURN_IF_ERROR(own.columns.reserve(1, width));
  if (rank_sum_.exists() && bytes > product_.values.size()) {
    SLUICE_ASSIGN_OR_RETURN(product_.values, HugeBuffer::allocate(bytes, "activations"));
  }
  activations_.push_back(std::move(made));
  tokens_max_ = std::max(tokens_max_, tokens_max);
  for (RopeTable& rope : ropes_) rope.reserve(tokens_max_);
  return ActivationId{static_cast<int32_t>(activations_.size()) - 1};
}

RopeId CpuBackend::add_rope(const RopeParams& params) {
  ropes_.emplace_back(params);
  ropes_.back().reserve(tokens_max_);
  return RopeId{static_cast<int32_t>(ropes_.size()) - 1};
}

Status CpuBackend::add_cache(const KvLayout& layout, int32_t block_count) {
  return attention_.allocate(layout, block_count);
}

void CpuBackend::write(ActivationId to, std::span<const float> values) {
  SLUICE_CHECK(values.size_bytes() <= activation(to).values.size());
  std::copy(values.begin(), values.end(), activation(to).row(0));
}

void CpuBackend::read(ActivationId from, std::span<float> values) {
  SLUICE_CHECK(values.size_bytes() <= activation(from).values.size());
  std::copy_n(activation(from).row(0), values.size(), values.begin());
}

StepStart CpuBackend::begin_step(const Batch& batch) {
  SLUICE_CHECK(batch.drawn_before.empty());  // whatever a step drew was collected
  batch_ = &batch;
  attention_.begin_step(batch);
  rank_sum_.begin_step();
  for (const Activation& made : activations_) SLUICE_CHECK(batch.token_count() <= made.tokens_max);
  for (RopeTable& rope : ropes_) rope.resize(batch.token_count());
  pool_.run([&](ThreadPool::Worker& worker) {
    worker.for_each(batch.token_count(), 4, [&](int32_t token) {
      for (RopeTable& rope : ropes_) rope.set(token, batch.positions[static_cast<size_t>(token)]);
    });
  });
  return StepStart::kCompute;
}

void CpuBackend::embed(ActivationId out, MatrixId table, float scale) {
  Activation& hidden = activation(out);
  const PackedMatrix& matrix = weights_.matrix(table);
  SLUICE_CHECK(matrix.parts.size() == 1 && matrix.length == hidden.width);
  pool_.run([&](ThreadPool::Worker& worker) {
    worker.for_each(batch_->token_count(), 4, [&](int32_t token) {
      const int32_t id = batch_->token_ids[static_cast<size_t>(token)];
      const std::span<float> row(hidden.row(token), static_cast<size_t>(hidden.width));
      unpack_row(matrix.parts.front(), id, row);
      if (scale == 1.0F) return;
      for (float& element : row) element *= scale;
    });
  });
}

template <typename SetColumn>
const ColumnBuffer& CpuBackend::make_columns(ThreadPool::Worker& worker, const PackedMatrix& matrix,
                                             const SetColumn& set) {
  const int32_t tokens = batch_->token_count();
  const bool is_alone = tokens == 1;  // each worker makes its column faster than it gets another's
  ColumnBuffer& columns = is_alone ? memory(worker).columns : columns_;
  if (is_alone) {
    columns.begin(matrix, batch_->decode_rows, tokens);
    set(columns, 0);
  } else {
    worker.for_each(tokens, 1, [&](int32_t token) { set(columns, token); });
    worker.barrier();
  }
  return columns;
}

const ColumnBuffer& CpuBackend::norm_columns(ThreadPool::Worker& worker, const PackedMatrix& matrix, Activation& in,
                                             const RmsNorm& norm) {
  const std::span<const float> weight = weights_.vector(norm.weight);
  return make_columns(worker, matrix, [&](ColumnBuffer& columns, int32_t token) {
    columns.set_normed(token, in.row(token), weight, norm.epsilon);
  });
}

void CpuBackend::norm_matmul(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId matrix, VectorId bias) {
  Activation& target = activation(out);
  const PackedMatrix& packed = weights_.matrix(matrix);
  SLUICE_CHECK(packed.row_count == target.width && packed.length == activation(in).width);
  const float* added = bias.exists() ? weights_.vector(bias).data() : nullptr;
  columns_.begin(packed, batch_->decode_rows, batch_->token_count());
  pool_.run([&](ThreadPool::Worker& worker) {
    fetch_first(worker, packed);
    const ColumnBuffer& columns = norm_columns(worker, packed, activation(in), norm);
    multiply(worker, kernels_, columns, packed, memory(worker).products,
             [&](const PanelResult& result) { put(kernels_, result, added, target.row(0), target.width); });
  });
}

template <typename SetResult>
void CpuBackend::multiply_input(ThreadPool::Worker& worker, const PackedMatrix& matrix, Activation& in,
                                const SetResult& set_result) {
  fetch_first(worker, matrix);
  const ColumnBuffer& columns =
      make_columns(worker, matrix, [&](ColumnBuffer& made, int32_t token) { made.set(token, in.row(token)); });
  multiply(worker, kernels_, columns, matrix, memory(worker).products, set_result);
}

void CpuBackend::matmul_add(ActivationId residual, ActivationId in, MatrixId matrix) {
  Activation& target = activation(residual);
  Activation& source = activation(in);
  const PackedMatrix& packed = weights_.matrix(matrix);
  SLUICE_CHECK(packed.row_count == target.width && packed.length == source.width);
  columns_.begin(packed, batch_->decode_rows, batch_->token_count());
  if (rank_sum_.exists()) return add_summed(target, source, packed);
  pool_.run([&](ThreadPool::Worker& worker) {
    multiply_input(worker, packed, source,
                   [&](const PanelResult& result) { add(kernels_, result, target.row(0), target.width); });
  });
}

/// target += the sum over the ranks of matrix * in.
void CpuBackend::add_summed(Activation& target, Activation& in, const PackedMatrix& matrix) {
  product_.width = target.width;
  pool_.run([&](ThreadPool::Worker& worker) {
    multiply_input(worker, matrix, in,
                   [&](const PanelResult& result) { put(kernels_, result, nullptr, product_.row(0), target.width); });
    rank_sum_.complete(worker, product_, batch_->token_count());
    worker.for_each(batch_->token_count(), 1, [&](int32_t token) {
      for (int32_t i = 0; i < target.width; ++i) target.row(token)[i] += product_.row(token)[i];
    });
  });
}

void CpuBackend::matmul_norm_add(ActivationId residual, ActivationId in, MatrixId matrix, const RmsNorm& norm,
                                 ActivationId product) {
  Activation& target = activation(residual);
  Activation& source = activation(in);
  Activation& made = activation(product);
  const PackedMatrix& packed = weights_.matrix(matrix);
  const std::span<const float> weight = weights_.vector(norm.weight);
  SLUICE_CHECK(packed.row_count == target.width && packed.length == source.width && made.width == target.width);
  columns_.begin(packed, batch_->decode_rows, batch_->token_count());
  pool_.run([&](ThreadPool::Worker& worker) {
    multiply_input(worker, packed, source,
                   [&](const PanelResult& result) { put(kernels_, result, nullptr, made.row(0), made.width); });
    rank_sum_.complete(worker, made, batch_->token_count());
    worker.for_each(batch_->token_count(), 1, [&](int32_t token) {
      float* row = made.row(token);
      kernels_.rms_norm(row, weight.data(), made.width, norm.epsilon, row);
      for (int32_t i = 0; i < made.width; ++i) target.row(token)[i] += row[i];
    });
  });
}

void CpuBackend::norm_gated(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId gate_up,
                            GateActivation activation_kind) {
  Activation& target = activation(out);
  const PackedMatrix& packed = weights_.matrix(gate_up);
  SLUICE_CHECK(packed.parts.size() == 2 && packed.length == activation(in).width);
  columns_.begin(packed, batch_->decode_rows, batch_->token_count());
  pool_.run([&](ThreadPool::Worker& worker) {
    fetch_first(worker, packed.parts[0], packed.parts[1]);
    const ColumnBuffer& columns = norm_columns(worker, packed, activation(in), norm);
    multiply_gated(worker, kernels_, columns, packed, activation_kind, memory(worker).products, target);
  });
}

void CpuBackend::norm_experts_add(ActivationId residual, const RmsNorm& norm, ExpertsId experts) {
  experts_.run(experts, weights_.vector(norm.weight), norm.epsilon, activation(residual), *batch_);
}

void CpuBackend::attend(ActivationId out, ActivationId qkv, const AttentionParams& params) {
  const auto weight_of = [&](const RmsNorm& norm) {
    return norm.weight.exists() ? weights_.vector(norm.weight) : std::span<const float>();
  };
  attention_.run({.params = &params,
                  .rope = &ropes_.at(static_cast<size_t>(params.rope.index)),
                  .query_norm = weight_of(params.query_norm),
                  .key_norm = weight_of(params.key_norm),
                  .qkv = &activation(qkv),
                  .out = &activation(out)});
}

Status CpuBackend::sample(ActivationId in, const RmsNorm& norm, MatrixId head) {
  const PackedMatrix& packed = weights_.matrix(head);
  SLUICE_CHECK(packed.parts.size() == 1);
  if (!rank_sum_.failure().ok()) return rank_sum_.failure();
  logits_.begin(packed.row_count);
  drawn_.samples.resize(batch_->samples.size());
  for (int32_t begin = 0; begin < static_cast<int32_t>(batch_->samples.size()); begin += kLogitRowsMax) {
    sample_tile(begin, activation(in), norm, packed, drawn_);
  }
  batch_ = nullptr;
  return {};
}

Result<StepOutput> CpuBackend::collect() {
  return std::exchange(drawn_, {});
}

void CpuBackend::sample_tile(int32_t begin, Activation& in, const RmsNorm& norm, const PackedMatrix& head,
                             StepOutput& output) {
  const int32_t rows = std::min(kLogitRowsMax, static_cast<int32_t>(batch_->samples.size()) - begin);
  const auto sample_row = [&](int32_t i) -> const SampleRow& {
    return batch_->samples[static_cast<size_t>(begin + i)];
  };
  const std::span<const float> weight = weights_.vector(norm.weight);
  sample_columns_.begin(head, rows, rows);
  pool_.run([&](ThreadPool::Worker& worker) {
    fetch_first(worker, head);
    worker.for_each(rows, 1, [&](int32_t i) {
      sample_columns_.set_normed(i, in.row(sample_row(i).token_index), weight, norm.epsilon);
    });
    worker.barrier();
    multiply(worker, kernels_, sample_columns_, head, memory(worker).products,
             [&](const PanelResult& result) { logits_.store(kernels_, result); });
    worker.barrier();
    worker.for_each(rows, 1, [&](int32_t i) {
      output.samples[static_cast<size_t>(begin + i)] =
          sample_token(logits_.row(i), sample_row(i), memory(worker).sampler, kernels_.logits);
    });
  });
}

}  // namespace
}  // namespace cpu

Result<std::unique_ptr<CountedBackend>> make_cpu_backend(const CpuOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const CpuIsa isa, choose_cpu_isa(options.isa));
  SLUICE_RETURN_IF_ERROR(cpu::check_kernels(cpu::kernels_for(isa), cpu_isa_name(isa)));
  const int32_t threads = options.threads > 0 ? options.threads : available_threads();
  return std::unique_ptr<CountedBackend>(
      std::make_unique<cpu::CpuBackend>(isa, threads, options.clock, options.communicator));
}

}  // namespace sluice::engine
