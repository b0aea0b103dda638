#include "bench/micro/operation_rig.h"

#include "base/check.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/gguf.h"

namespace sluice::bench {

namespace {

constexpr int32_t kBlockSize = 16;

std::unique_ptr<engine::Backend> make_backend(const OperationSetting& setting) {
  auto backend = engine::make_cpu_backend({.threads = setting.threads, .isa = setting.isa});
  SLUICE_CHECK(backend.ok());
  return std::move(backend).value();
}

/// Rows of one token each at the end of contexts that lie in blocks of their own.
engine::Batch decode_batch(int32_t rows, int32_t context) {
  engine::Batch batch;
  batch.row_begin.push_back(0);
  batch.table_begin.push_back(0);
  const int32_t blocks = (context + kBlockSize - 1) / kBlockSize;
  for (int32_t row = 0; row < rows; ++row) {
    batch.token_ids.push_back(0);
    batch.positions.push_back(context - 1);
    batch.slots.push_back(row * blocks * kBlockSize + context - 1);
    batch.row_begin.push_back(row + 1);
    batch.context_lengths.push_back(context);
    for (int32_t block = 0; block < blocks; ++block) batch.block_ids.push_back(row * blocks + block);
    batch.table_begin.push_back(static_cast<int32_t>(batch.block_ids.size()));
  }
  batch.decode_rows = rows;
  return batch;
}

}  // namespace

ProductRig::ProductRig(const OperationSetting& setting, engine::TensorType type, int32_t rows, int32_t length,
                       int32_t columns)
    : backend_(make_backend(setting)), batch_(decode_batch(columns, 1)) {
  const int64_t stored_bytes = engine::tensor_bytes(type, int64_t{rows} * length);
  // Every byte 0x2c: scales of about 0.06, which give numbers of ordinary size.
  const std::vector<std::byte> bytes(static_cast<size_t>(stored_bytes), std::byte{0x2c});
  const engine::StoredTensor tensor{.name = "weights", .type = type, .shape = {length, rows}, .data = bytes};
  for (int64_t total = 0; total < kWeightsTotal; total += stored_bytes) {
    matrices_.push_back(backend_->add_matrix({{&tensor}}).value());
  }
  weight_bytes_ = backend_->matrix_size(matrices_.front()).bytes;
  in_ = backend_->add_activation(columns, length).value();
  out_ = backend_->add_activation(columns, rows).value();
  backend_->write(in_, std::vector<float>(static_cast<size_t>(columns) * static_cast<size_t>(length), 0.5F));
  if (columns > kDrawnMax) batch_.decode_rows = 0;
}

void ProductRig::multiply() {
  backend_->begin_step(batch_);
  backend_->matmul_add(out_, in_, matrices_[next_]);
  next_ = (next_ + 1) % matrices_.size();
}

AttentionRig::AttentionRig(const OperationSetting& setting, int32_t rows, int32_t context)
    : backend_(make_backend(setting)), batch_(decode_batch(rows, context)) {
  const auto type = engine::kv_type_from_name(setting.kv_type);
  SLUICE_CHECK(type.has_value());
  const engine::KvLayout layout{.groups = engine::LayerGroups::one_group(kLayers),
                                .kv_head_count = 3,
                                .head_dim = 64,
                                .block_size = kBlockSize,
                                .type = *type};
  const auto blocks = static_cast<int32_t>(batch_.block_ids.size());
  SLUICE_CHECK(backend_->add_cache(layout, blocks).ok());
  cache_bytes_ = blocks * layout.block_bytes() / kLayers;
  qkv_ = backend_->add_activation(rows, (kHeads + 2 * layout.kv_head_count) * layout.head_dim).value();
  out_ = backend_->add_activation(rows, kHeads * layout.head_dim).value();
  rope_ = backend_->add_rope({engine::rope_frequencies({}, layout.head_dim)});
}

void AttentionRig::attend() {
  backend_->begin_step(batch_);
  backend_->attend(out_, qkv_, {layer_, kHeads, rope_, 0.125F});
  layer_ = (layer_ + 1) % kLayers;
}

}  // namespace sluice::bench
