#include "engine/cpu/expert_op.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/cpu/gated_product.h"
#include "engine/cpu/matrix_product.h"

namespace sluice::engine::cpu {

Result<ExpertsId> ExpertOp::add(Experts experts, int32_t tokens_max) {
  const PackedMatrix& down = weights_.matrix(experts.downs.at(0));
  SLUICE_RETURN_IF_ERROR(reserve(normed_, tokens_max, down.row_count));
  SLUICE_RETURN_IF_ERROR(reserve(scores_, tokens_max, experts.count()));
  SLUICE_RETURN_IF_ERROR(reserve(ffn_, tokens_max, down.length));
  SLUICE_RETURN_IF_ERROR(reserve(chosen_, tokens_max * experts.per_token, down.row_count));
  SLUICE_RETURN_IF_ERROR(columns_.reserve(tokens_max, std::max(down.length, down.row_count)));
  experts_.push_back(std::move(experts));
  return ExpertsId{static_cast<int32_t>(experts_.size()) - 1};
}

Status ExpertOp::reserve(Activation& activation, int32_t tokens, int32_t width) {
  if (activation.tokens_max >= tokens && activation.width == width) return Status();
  SLUICE_CHECK(activation.width == 0 || activation.width == width);
  const size_t bytes = static_cast<size_t>(tokens) * static_cast<size_t>(width) * sizeof(float);
  SLUICE_ASSIGN_OR_RETURN(activation.values, HugeBuffer::allocate(bytes, "activations of experts"));
  activation.tokens_max = tokens;
  activation.width = width;
  return Status();
}

void ExpertOp::run(ExpertsId id, std::span<const float> norm, float norm_epsilon, Activation& residual,
                   const Batch& batch) {
  const Experts& experts = experts_.at(static_cast<size_t>(id.index));
  SLUICE_CHECK(residual.width == normed_.width && batch.token_count() <= normed_.tokens_max);
  routing_.begin(batch.token_count(), experts.count(), experts.per_token);
  pool_.run([&](ThreadPool::Worker& worker) {
    worker.for_each(batch.token_count(), 1, [&](int32_t token) {
      kernels_.rms_norm(residual.row(token), norm.data(), residual.width, norm_epsilon, normed_.row(token));
    });
  });
  score(experts, batch);
  routing_.finish();
  for (const ExpertTokens& tokens : routing_.taken()) run_expert(experts, tokens, batch.decode_rows);
  add_all_chosen(residual, batch.token_count());
}

void ExpertOp::score(const Experts& experts, const Batch& batch) {
  const PackedMatrix& router = weights_.matrix(experts.router);
  SLUICE_CHECK(router.row_count == scores_.width && router.length == normed_.width);
  columns_.begin(router, batch.decode_rows, batch.token_count());
  pool_.run([&](ThreadPool::Worker& worker) {
    worker.for_each(batch.token_count(), 1, [&](int32_t token) { columns_.set(token, normed_.row(token)); });
    worker.barrier();
    multiply(worker, kernels_, columns_, router, memory(worker).products,
             [&](const PanelResult& result) { put(kernels_, result, nullptr, scores_.row(0), scores_.width); });
    worker.barrier();
    worker.for_each(batch.token_count(), 8, [&](int32_t token) {
      const std::span<float> scores(scores_.row(token), static_cast<size_t>(scores_.width));
      routing_.choose(token, scores, experts.sums_to_one);
    });
  });
}

// Tokens ascend, so those that decode come first among an expert's too.
void ExpertOp::run_expert(const Experts& experts, const ExpertTokens& tokens, int32_t decode_rows) {
  const auto at = static_cast<size_t>(tokens.expert);
  const PackedMatrix& gate_up = weights_.matrix(experts.gate_ups[at]);
  const PackedMatrix& down = weights_.matrix(experts.downs[at]);
  SLUICE_CHECK(gate_up.length == normed_.width && gate_up.row_count == 2 * ffn_.width);
  SLUICE_CHECK(down.length == ffn_.width && down.row_count == chosen_.width);
  const auto count = static_cast<int32_t>(tokens.tokens.size());
  const auto decode_end = std::lower_bound(tokens.tokens.begin(), tokens.tokens.end(), decode_rows);
  const auto decode_count = static_cast<int32_t>(decode_end - tokens.tokens.begin());
  columns_.begin(gate_up, decode_count, count);
  pool_.run([&](ThreadPool::Worker& worker) {
    fetch_first(worker, gate_up.parts[0], gate_up.parts[1]);
    worker.for_each(count, 1, [&](int32_t i) { columns_.set(i, normed_.row(tokens.tokens[static_cast<size_t>(i)])); });
    worker.barrier();
    multiply_gated(worker, kernels_, columns_, gate_up, experts.activation, memory(worker).products, ffn_);
  });
  columns_.begin(down, decode_count, count);
  pool_.run([&](ThreadPool::Worker& worker) {
    fetch_first(worker, down);
    worker.for_each(count, 1, [&](int32_t i) { columns_.set(i, ffn_.row(i)); });
    worker.barrier();
    multiply(worker, kernels_, columns_, down, memory(worker).products, [&](const PanelResult& result) {
      put(kernels_, result, nullptr, chosen_.row(tokens.first_row), chosen_.width);
    });
  });
}

void ExpertOp::add_all_chosen(Activation& residual, int32_t tokens) {
  pool_.run([&](ThreadPool::Worker& worker) {
    if (!rank_sum_.exists()) {
      return worker.for_each(tokens, 1, [&](int32_t token) { add_chosen(residual, token); });
    }
    Activation& sum = normed_;  // no expert reads it any more
    worker.for_each(tokens, 1, [&](int32_t token) {
      std::fill_n(sum.row(token), sum.width, 0.0F);
      add_chosen(sum, token);
    });
    rank_sum_.complete(worker, sum, tokens);
    worker.for_each(tokens, 1, [&](int32_t token) {
      for (int32_t i = 0; i < sum.width; ++i) residual.row(token)[i] += sum.row(token)[i];
    });
  });
}

// In the order of the scores, whatever the order in which the experts were computed.
void ExpertOp::add_chosen(Activation& activation, int32_t token) {
  float* to = activation.row(token);
  int32_t place = 0;
  for (const ExpertChoice& choice : routing_.choices(token)) {
    const float* chosen = chosen_.row(routing_.row_of(token, place++));
    for (int32_t i = 0; i < activation.width; ++i) to[i] += choice.weight * chosen[i];
  }
}

}  // namespace sluice::engine::cpu
