#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cpu/activation.h"
#include "engine/cpu/attention_plan.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/kv_store.h"
#include "engine/cpu/rope_table.h"
#include "engine/cpu/thread_pool.h"

namespace sluice::engine::cpu {

/// A step's attention over the paged cache, which it owns. One caller thread.
class AttentionOp {
 public:
  /// Both are lent.
  AttentionOp(const Kernels& kernels, ThreadPool& pool);

  /// Makes the cache. RESOURCE_EXHAUSTED when its memory is not to be had.
  Status allocate(const KvLayout& layout, int32_t block_count);
  /// The batch is lent for the following runs.
  void begin_step(const Batch& batch);

  /// What one layer works on.
  struct Layer {
    const AttentionParams* params = nullptr;
    const RopeTable* rope = nullptr;
    std::span<const float> query_norm;  // [head_dim], or empty
    std::span<const float> key_norm;    // [head_dim], or empty
    Activation* qkv = nullptr;
    Activation* out = nullptr;
  };
  /// See Backend::attend.
  void run(const Layer& layer);

 private:
  /// Tiles are loaded fastest from whole lines.
  struct alignas(64) CacheLine {
    std::array<float, 16> floats;
  };
  /// How the step is cut for layers that see as much; the same for all of these.
  struct Plan {
    AttentionPlan cut;
    bool is_made = false;
  };

  int32_t window_of(const Layer& layer) const;
  const AttentionPlan& plan_for(const Layer& layer, int32_t group);
  void prepare_token(const Layer& layer, int32_t token);
  AttendTask task_for(const Layer& layer, const AttendTile& tile, int32_t kv_head, float* scratch);

  const Kernels& kernels_;
  ThreadPool& pool_;
  KvStore cache_;
  HugeBuffer partials_;
  std::vector<std::vector<CacheLine>> scratch_;  // [threads]
  const Batch* batch_ = nullptr;
  std::array<Plan, 2> plans_;  // without and with a window
};

}  // namespace sluice::engine::cpu
