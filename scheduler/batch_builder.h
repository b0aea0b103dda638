#pragma once

#include "engine/batch.h"
#include "kvcache/block_growth.h"
#include "scheduler/step_plan.h"

namespace sluice::scheduler {

/// Writes the plan's rows into `batch`, whose memory is reused. The batch lends the sequences' prompts, outputs and
/// sampling parameters: it is good until the plan is committed or dropped.
void build_batch(const StepPlan& plan, const kvcache::BlockGrowth& growth, engine::Batch& batch);

}  // namespace sluice::scheduler
