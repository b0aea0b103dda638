#pragma once

#include <cstdint>

#include "engine/batch.h"
#include "scheduler/step_plan.h"

namespace sluice::scheduler {

/// Writes the plan's rows into `batch`, whose memory is reused. The batch lends the sequences' prompts, outputs and
/// sampling parameters: it is good until the plan is committed or dropped.
void build_batch(const StepPlan& plan, int32_t block_size, engine::Batch& batch);

}  // namespace sluice::scheduler
