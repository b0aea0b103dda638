#include "engine/cpu/attention_op.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice::engine::cpu {
namespace {

constexpr size_t kPartialBytes = size_t{4} << 20;  // for the partial results of attention along long contexts

}  // namespace

AttentionOp::AttentionOp(const Kernels& kernels, ThreadPool& pool)
    : kernels_(kernels), pool_(pool), scratch_(static_cast<size_t>(pool.thread_count())) {}

Status AttentionOp::allocate(const KvLayout& layout, int32_t block_count) {
  SLUICE_ASSIGN_OR_RETURN(partials_, HugeBuffer::allocate(kPartialBytes, "attention"));
  SLUICE_ASSIGN_OR_RETURN(cache_, KvStore::allocate(layout, block_count));
  return Status();
}

void AttentionOp::begin_step(const Batch& batch) {
  batch_ = &batch;
  for (Plan& plan : plans_) plan.is_made = false;
}

void AttentionOp::run(const Layer& layer) {
  const KvLayout& layout = cache_.layout();
  SLUICE_CHECK(layout.kv_head_count > 0);
  const int32_t heads = layout.kv_head_count;
  const int32_t group = layer.params->head_count / heads;
  SLUICE_CHECK(group * heads == layer.params->head_count);
  SLUICE_CHECK(layer.out->width == layer.params->head_count * layout.head_dim);
  SLUICE_CHECK(layer.qkv->width == (layer.params->head_count + 2 * heads) * layout.head_dim);
  SLUICE_CHECK(layer.rope->dim() <= layout.head_dim);
  const AttentionPlan& plan = plan_for(layer, group);
  // Cut along the context, tiles have one token.
  const int64_t partial_floats = attend_partial_floats(group, layout.head_dim);
  const AttentionKernels& kernels = cache_.attention(kernels_);
  const auto task_of = [&](const ThreadPool::Worker& worker, const AttendTile& tile, int32_t head) {
    return task_for(layer, tile, head, scratch_[static_cast<size_t>(worker.index())].data()->floats.data());
  };
  const auto attend_prompt = layout.head_dim % kPromptHeadStep == 0 ? kernels.attend_prompt : kernels.attend;
  const auto partials_of = [&](int32_t tile, int32_t head) {
    return partials_.as<float>() + plan.partial_index(tile, head) * partial_floats;
  };
  pool_.run([&](ThreadPool::Worker& worker) {
    worker.for_each(batch_->token_count(), 1, [&](int32_t token) { prepare_token(layer, token); });
    worker.barrier();
    worker.for_each(static_cast<int32_t>(plan.items().size()) * heads, 1, [&](int32_t i) {
      const AttendItem& item = plan.items()[static_cast<size_t>(i / heads)];
      const AttendTile& tile = plan.tiles()[static_cast<size_t>(item.tile)];
      const AttendTask task = task_of(worker, tile, i % heads);
      if (item.tile >= batch_->decode_rows) return attend_prompt(task);
      if (item.span == AttendItem::kWhole) return kernels.attend(task);
      kernels.attend_span(task, tile.first_span + item.span,
                          partials_of(item.tile, i % heads) + item.span * partial_floats);
    });
    if (!plan.is_split()) return;
    worker.barrier();
    worker.for_each(static_cast<int32_t>(plan.tiles().size()) * heads, 1, [&](int32_t i) {
      kernels_.merge_spans(task_of(worker, plan.tiles()[static_cast<size_t>(i / heads)], i % heads),
                           partials_of(i / heads, i % heads));
    });
  });
}

int32_t AttentionOp::window_of(const Layer& layer) const {
  return cache_.has_window(layer.params->layer) ? cache_.layout().window : kNoWindow;
}

const AttentionPlan& AttentionOp::plan_for(const Layer& layer, int32_t group) {
  const KvLayout& layout = cache_.layout();
  Plan& plan = plans_.at(cache_.has_window(layer.params->layer) ? 1 : 0);
  if (std::exchange(plan.is_made, true)) return plan.cut;
  const auto scratch_lines = static_cast<size_t>(attend_scratch_floats(group, layout.head_dim) / 16 + 1);
  for (std::vector<CacheLine>& own : scratch_) own.resize(std::max(own.size(), scratch_lines));
  const auto floats = static_cast<int64_t>(partials_.size() / sizeof(float));
  plan.cut.make(*batch_, window_of(layer), pool_.thread_count(), layout.kv_head_count,
                floats / attend_partial_floats(group, layout.head_dim));
  return plan.cut;
}

/// Normalises and turns a token's queries and keys, and stores its keys and values.
void AttentionOp::prepare_token(const Layer& layer, int32_t token) {
  const KvLayout& layout = cache_.layout();
  const int32_t query_heads = layer.params->head_count;
  const int32_t turned = query_heads + layout.kv_head_count;
  float* qkv = layer.qkv->row(token);
  const auto head_at = [&](int32_t head) { return qkv + int64_t{head} * layout.head_dim; };
  for (int32_t head = 0; head < turned; ++head) {
    const bool is_query = head < query_heads;
    const std::span<const float> norm = is_query ? layer.query_norm : layer.key_norm;
    const float epsilon = is_query ? layer.params->query_norm.epsilon : layer.params->key_norm.epsilon;
    if (!norm.empty()) kernels_.rms_norm(head_at(head), norm.data(), layout.head_dim, epsilon, head_at(head));
    layer.rope->rotate(kernels_, token, head_at(head));
  }
  const int32_t group = cache_.place_of(layer.params->layer).group;
  const int32_t slot = batch_->slots[static_cast<size_t>(group * batch_->token_count() + token)];
  for (int32_t head = 0; head < layout.kv_head_count; ++head) {
    cache_.write(kernels_, layer.params->layer, slot, head, head_at(query_heads + head), head_at(turned + head));
  }
}

AttendTask AttentionOp::task_for(const Layer& layer, const AttendTile& tile, int32_t kv_head, float* scratch) {
  const KvLayout& layout = cache_.layout();
  const int32_t group = layer.params->head_count / layout.kv_head_count;
  const int64_t first_column = int64_t{kv_head} * group * layout.head_dim;
  const int64_t tables = int64_t{cache_.place_of(layer.params->layer).group} * batch_->table_begin.back();
  return {.cache = cache_.head(layer.params->layer, 0, kv_head),
          .block_bytes = cache_.block_bytes(),
          .block_ids = batch_->block_ids.data() + tables + batch_->table_begin[static_cast<size_t>(tile.row)],
          .block_size = layout.block_size,
          .head_dim = layout.head_dim,
          .group = group,
          .token_count = tile.count,
          .first_position = batch_->positions[static_cast<size_t>(tile.token)],
          .window = window_of(layer),
          .scale = layer.params->scale,
          .queries = layer.qkv->row(tile.token) + first_column,
          .query_stride = layer.qkv->width,
          .out = layer.out->row(tile.token) + first_column,
          .out_stride = layer.out->width,
          .scratch = scratch};
}

}  // namespace sluice::engine::cpu
