#include "engine/cpu/cpu_backend.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/cpu/attention_plan.h"
#include "engine/cpu/available_threads.h"
#include "engine/cpu/column_buffer.h"
#include "engine/cpu/cpu_isa.h"
#include "engine/cpu/kernel_check.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/kv_store.h"
#include "engine/cpu/logit_store.h"
#include "engine/cpu/machine_limits.h"
#include "engine/cpu/matrix_product.h"
#include "engine/cpu/rope_table.h"
#include "engine/cpu/thread_pool.h"
#include "engine/cpu/weight_store.h"
#include "engine/sampler.h"

namespace sluice::engine {
namespace cpu {
namespace {

constexpr size_t kPartialBytes = size_t{4} << 20;  // for the partial results of attention along long contexts

struct Activation {
  HugeBuffer values;  // [tokens_max, width]
  int32_t tokens_max = 0;
  int32_t width = 0;
  float* row(int32_t token) { return values.as<float>() + int64_t{token} * width; }
};

/// Tiles are loaded fastest from whole lines.
struct alignas(64) CacheLine {
  std::array<float, 16> floats;
};

/// What each worker needs for itself.
struct alignas(64) WorkerMemory {
  explicit WorkerMemory(const Kernels& kernels) : columns(kernels) {}

  ProductMemory products;
  ColumnBuffer columns;  // of a step's only token
  std::vector<CacheLine> attention;
  SamplerScratch sampler;
};

class CpuBackend final : public CountedBackend {
 public:
  CpuBackend(CpuIsa isa, int32_t threads, const Clock* clock)
      : isa_(isa), kernels_(kernels_for(isa)), pool_(threads, clock), columns_(kernels_), sample_columns_(kernels_) {
    for (int32_t i = 0; i < threads; ++i) memories_.emplace_back(kernels_);
  }

  std::string description() const override;
  ThreadCounters thread_counters() const override { return pool_.counters(); }
  Result<MatrixId> add_matrix(std::span<const GgufTensor* const> parts) override;
  MatrixSize matrix_size(MatrixId matrix) const override;
  Result<VectorId> add_vector(std::span<const GgufTensor* const> parts) override { return weights_.add_vector(parts); }
  Result<ActivationId> add_activation(int32_t tokens_max, int32_t width) override;
  RopeId add_rope(const RopeParams& params) override;
  Status add_cache(const KvLayout& layout, int32_t block_count) override;

  MachineLimits measure_limits(const Clock& clock) override;

  void write(ActivationId to, std::span<const float> values) override;
  void read(ActivationId from, std::span<float> values) override;
  void begin_step(const Batch& batch) override;
  void embed(ActivationId out, MatrixId table) override;
  void norm_matmul(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId matrix, VectorId bias) override;
  void attend(ActivationId out, ActivationId qkv, const AttentionParams& params) override;
  void matmul_add(ActivationId residual, ActivationId in, MatrixId matrix) override;
  void norm_swiglu(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId gate_up) override;
  Result<StepOutput> sample(ActivationId in, const RmsNorm& norm, MatrixId head) override;

 private:
  Activation& activation(ActivationId id) { return activations_.at(static_cast<size_t>(id.index)); }
  WorkerMemory& memory(const ThreadPool::Worker& worker) { return memories_[static_cast<size_t>(worker.index())]; }
  template <typename SetColumn>
  const ColumnBuffer& make_columns(ThreadPool::Worker& worker, const PackedMatrix& matrix, const SetColumn& set);
  const ColumnBuffer& norm_columns(ThreadPool::Worker& worker, const PackedMatrix& matrix, Activation& in,
                                   const RmsNorm& norm);
  void plan_attention(int32_t group);
  void turn_and_store(int32_t token, float* qkv, const AttentionParams& params);
  AttendTask attend_task(const AttendTile& tile, int32_t kv_head, Activation& out, Activation& qkv,
                         const AttentionParams& params, float* scratch);
  void sample_tile(int32_t begin, Activation& in, const RmsNorm& norm, const PackedMatrix& head, StepOutput& output);

  const CpuIsa isa_;
  const Kernels& kernels_;
  ThreadPool pool_;
  std::vector<WorkerMemory> memories_;
  WeightStore weights_;
  std::vector<Activation> activations_;
  int32_t tokens_max_ = 0;  // of any activation
  std::vector<RopeTable> ropes_;
  KvStore cache_;
  ColumnBuffer columns_;         // of the step's tokens
  ColumnBuffer sample_columns_;  // of one tile of sample rows
  LogitStore logits_;            // of the same tile
  HugeBuffer partials_;          // of attention

  const Batch* batch_ = nullptr;
  AttentionPlan attention_;
  bool is_attention_planned_ = false;  // for this step; the same for all its layers
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

Result<MatrixId> CpuBackend::add_matrix(std::span<const GgufTensor* const> parts) {
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
  SLUICE_ASSIGN_OR_RETURN(partials_, HugeBuffer::allocate(kPartialBytes, "attention"));
  SLUICE_ASSIGN_OR_RETURN(cache_, KvStore::allocate(layout, block_count));
  return Status();
}

void CpuBackend::write(ActivationId to, std::span<const float> values) {
  SLUICE_CHECK(values.size_bytes() <= activation(to).values.size());
  std::copy(values.begin(), values.end(), activation(to).row(0));
}

void CpuBackend::read(ActivationId from, std::span<float> values) {
  SLUICE_CHECK(values.size_bytes() <= activation(from).values.size());
  std::copy_n(activation(from).row(0), values.size(), values.begin());
}

void CpuBackend::begin_step(const Batch& batch) {
  batch_ = &batch;
  is_attention_planned_ = false;
  for (const Activation& made : activations_) SLUICE_CHECK(batch.token_count() <= made.tokens_max);
  for (RopeTable& rope : ropes_) rope.resize(batch.token_count());
  pool_.run([&](ThreadPool::Worker& worker) {
    worker.for_each(batch.token_count(), 4, [&](int32_t token) {
      for (RopeTable& rope : ropes_) rope.set(token, batch.positions[static_cast<size_t>(token)]);
    });
  });
}

void CpuBackend::embed(ActivationId out, MatrixId table) {
  Activation& hidden = activation(out);
  const PackedMatrix& matrix = weights_.matrix(table);
  SLUICE_CHECK(matrix.parts.size() == 1 && matrix.length == hidden.width);
  pool_.run([&](ThreadPool::Worker& worker) {
    worker.for_each(batch_->token_count(), 4, [&](int32_t token) {
      const int32_t id = batch_->token_ids[static_cast<size_t>(token)];
      unpack_row(matrix.parts.front(), id, {hidden.row(token), static_cast<size_t>(hidden.width)});
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

void CpuBackend::matmul_add(ActivationId residual, ActivationId in, MatrixId matrix) {
  Activation& target = activation(residual);
  Activation& source = activation(in);
  const PackedMatrix& packed = weights_.matrix(matrix);
  SLUICE_CHECK(packed.row_count == target.width && packed.length == source.width);
  columns_.begin(packed, batch_->decode_rows, batch_->token_count());
  pool_.run([&](ThreadPool::Worker& worker) {
    fetch_first(worker, packed);
    const ColumnBuffer& columns =
        make_columns(worker, packed, [&](ColumnBuffer& made, int32_t token) { made.set(token, source.row(token)); });
    multiply(worker, kernels_, columns, packed, memory(worker).products,
             [&](const PanelResult& result) { add(kernels_, result, target.row(0), target.width); });
  });
}

void CpuBackend::norm_swiglu(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId gate_up) {
  Activation& target = activation(out);
  const PackedMatrix& packed = weights_.matrix(gate_up);
  SLUICE_CHECK(packed.parts.size() == 2 && packed.length == activation(in).width);
  const PackedPart& gate = packed.parts[0];
  const PackedPart& up = packed.parts[1];
  SLUICE_CHECK(gate.row_count == target.width && up.row_count == target.width);
  columns_.begin(packed, batch_->decode_rows, batch_->token_count());
  pool_.run([&](ThreadPool::Worker& worker) {
    fetch_first(worker, gate, up);
    const ColumnBuffer& columns = norm_columns(worker, packed, activation(in), norm);
    WorkerMemory& own = memory(worker);
    const auto finish = [&](int32_t panel, const ColumnTile& tile) {
      kernels_.silu_multiply(own.products.first.data(), own.products.second.data(), tile.count * kPanelRows);
      const PanelRef rows{&gate, panel};
      put(kernels_, {rows.first_row(), rows.row_count(), tile.token, tile.count, own.products.first.data()}, nullptr,
          target.row(0), target.width);
    };
    multiply_side_by_side(worker, kernels_, columns, gate, up, own.products, finish);
  });
}

void CpuBackend::attend(ActivationId out, ActivationId qkv, const AttentionParams& params) {
  const KvLayout& layout = cache_.layout();
  SLUICE_CHECK(layout.kv_head_count > 0 && params.layer < layout.layer_count);
  const int32_t group = params.head_count / layout.kv_head_count;
  SLUICE_CHECK(group * layout.kv_head_count == params.head_count);
  SLUICE_CHECK(activation(out).width == params.head_count * layout.head_dim);
  SLUICE_CHECK(activation(qkv).width == (params.head_count + 2 * layout.kv_head_count) * layout.head_dim);
  if (!std::exchange(is_attention_planned_, true)) plan_attention(group);
  // Cut along the context, tiles have one token.
  const int64_t partial_floats = attend_partial_floats(group, layout.head_dim);
  const AttentionKernels& kernels = cache_.attention(kernels_);
  const int32_t heads = layout.kv_head_count;
  const auto task_of = [&](ThreadPool::Worker& worker, int32_t tile, int32_t head) {
    return attend_task(attention_.tiles()[static_cast<size_t>(tile)], head, activation(out), activation(qkv), params,
                       memory(worker).attention.data()->floats.data());
  };
  const auto attend_prompt = layout.head_dim % kPromptHeadStep == 0 ? kernels.attend_prompt : kernels.attend;
  const auto partials_of = [&](int32_t tile, int32_t head) {
    return partials_.as<float>() + attention_.partial_index(tile, head) * partial_floats;
  };
  pool_.run([&](ThreadPool::Worker& worker) {
    worker.for_each(batch_->token_count(), 1,
                    [&](int32_t token) { turn_and_store(token, activation(qkv).row(token), params); });
    worker.barrier();
    worker.for_each(static_cast<int32_t>(attention_.items().size()) * heads, 1, [&](int32_t i) {
      const AttendItem& item = attention_.items()[static_cast<size_t>(i / heads)];
      const AttendTask task = task_of(worker, item.tile, i % heads);
      if (item.tile >= batch_->decode_rows) return attend_prompt(task);
      if (item.span == AttendItem::kWhole) return kernels.attend(task);
      kernels.attend_span(task, item.span, partials_of(item.tile, i % heads) + item.span * partial_floats);
    });
    if (!attention_.is_split()) return;
    worker.barrier();
    worker.for_each(static_cast<int32_t>(attention_.tiles().size()) * heads, 1, [&](int32_t i) {
      kernels_.merge_spans(task_of(worker, i / heads, i % heads), partials_of(i / heads, i % heads));
    });
  });
}

void CpuBackend::plan_attention(int32_t group) {
  const KvLayout& layout = cache_.layout();
  const auto scratch_lines = static_cast<size_t>(attend_scratch_floats(group, layout.head_dim) / 16 + 1);
  for (WorkerMemory& own : memories_) own.attention.resize(std::max(own.attention.size(), scratch_lines));
  const auto floats = static_cast<int64_t>(partials_.size() / sizeof(float));
  attention_.make(*batch_, pool_.thread_count(), layout.kv_head_count,
                  floats / attend_partial_floats(group, layout.head_dim));
}

void CpuBackend::turn_and_store(int32_t token, float* qkv, const AttentionParams& params) {
  const KvLayout& layout = cache_.layout();
  const RopeTable& rope = ropes_.at(static_cast<size_t>(params.rope.index));
  SLUICE_CHECK(rope.dim() <= layout.head_dim);
  const int32_t turned = params.head_count + layout.kv_head_count;
  for (int32_t head = 0; head < turned; ++head) rope.rotate(kernels_, token, qkv + int64_t{head} * layout.head_dim);
  const float* keys = qkv + int64_t{params.head_count} * layout.head_dim;
  const float* values = qkv + int64_t{turned} * layout.head_dim;
  for (int32_t head = 0; head < layout.kv_head_count; ++head) {
    cache_.write(kernels_, params.layer, batch_->slots[static_cast<size_t>(token)], head,
                 keys + int64_t{head} * layout.head_dim, values + int64_t{head} * layout.head_dim);
  }
}

AttendTask CpuBackend::attend_task(const AttendTile& tile, int32_t kv_head, Activation& out, Activation& qkv,
                                   const AttentionParams& params, float* scratch) {
  const KvLayout& layout = cache_.layout();
  const int32_t group = params.head_count / layout.kv_head_count;
  const int64_t first_column = int64_t{kv_head} * group * layout.head_dim;
  return {.cache = cache_.head(params.layer, 0, kv_head),
          .block_bytes = cache_.block_bytes(),
          .block_ids = batch_->block_ids.data() + batch_->table_begin[static_cast<size_t>(tile.row)],
          .block_size = layout.block_size,
          .head_dim = layout.head_dim,
          .group = group,
          .token_count = tile.count,
          .first_position = batch_->positions[static_cast<size_t>(tile.token)],
          .scale = params.scale,
          .queries = qkv.row(tile.token) + first_column,
          .query_stride = qkv.width,
          .out = out.row(tile.token) + first_column,
          .out_stride = out.width,
          .scratch = scratch};
}

Result<StepOutput> CpuBackend::sample(ActivationId in, const RmsNorm& norm, MatrixId head) {
  const PackedMatrix& packed = weights_.matrix(head);
  SLUICE_CHECK(packed.parts.size() == 1);
  logits_.begin(packed.row_count);
  StepOutput output;
  output.samples.resize(batch_->samples.size());
  for (int32_t begin = 0; begin < static_cast<int32_t>(batch_->samples.size()); begin += kLogitRowsMax) {
    sample_tile(begin, activation(in), norm, packed, output);
  }
  batch_ = nullptr;
  return output;
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
  return std::unique_ptr<CountedBackend>(std::make_unique<cpu::CpuBackend>(isa, threads, options.clock));
}

}  // namespace sluice::engine
