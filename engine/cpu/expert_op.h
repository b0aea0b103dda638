#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/batch.h"
#include "engine/cpu/activation.h"
#include "engine/cpu/column_buffer.h"
#include "engine/cpu/expert_routing.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/rank_sum.h"
#include "engine/cpu/thread_pool.h"
#include "engine/cpu/weight_store.h"
#include "engine/cpu/worker_memory.h"

namespace sluice::engine::cpu {

/// The experts of all layers; runs those of one layer over the tokens of a step. Layers have experts of one size. One
/// caller thread.
class ExpertOp {
 public:
  /// All are lent; `memories` has one for each of the pool's threads, `columns` room for every token of a step.
  ExpertOp(const Kernels& kernels, ThreadPool& pool, const WeightStore& weights, std::vector<WorkerMemory>& memories,
           ColumnBuffer& columns, RankSum& rank_sum)
      : kernels_(kernels),
        pool_(pool),
        weights_(weights),
        memories_(memories),
        columns_(columns),
        rank_sum_(rank_sum) {}

  /// See Backend::add_experts.
  Result<ExpertsId> add(Experts experts, int32_t tokens_max);

  /// See Backend::norm_experts_add; `norm` is the weight of a norm.
  void run(ExpertsId id, std::span<const float> norm, float norm_epsilon, Activation& residual, const Batch& batch);

 private:
  Status reserve(Activation& activation, int32_t tokens, int32_t width);
  void score(const Experts& experts, const Batch& batch);
  void run_expert(const Experts& experts, const ExpertTokens& tokens, int32_t decode_rows);
  void add_all_chosen(Activation& residual, int32_t tokens);
  void add_chosen(Activation& activation, int32_t token);
  WorkerMemory& memory(const ThreadPool::Worker& worker) { return memories_[static_cast<size_t>(worker.index())]; }

  const Kernels& kernels_;
  ThreadPool& pool_;
  const WeightStore& weights_;
  std::vector<WorkerMemory>& memories_;
  ColumnBuffer& columns_;
  RankSum& rank_sum_;
  std::vector<Experts> experts_;
  ExpertRouting routing_;
  Activation normed_;  // [tokens, width]
  Activation scores_;  // [tokens, experts]
  Activation ffn_;     // [tokens, ffn_width], of one expert
  Activation chosen_;  // [tokens * per_token, width], in the routing's rows
};

}  // namespace sluice::engine::cpu
