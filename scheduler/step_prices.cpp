#include "scheduler/step_prices.h"

#include "scheduler/step_plan.h"

namespace sluice::scheduler {

StepLoad load_of(const StepPlan& plan) {
  return {.prefill_tokens = plan.prefill_tokens,
          .decode_rows = plan.decode_rows,
          .context_tokens = plan.context_tokens,
          .prefill_pairs = plan.prefill_pairs};
}

}  // namespace sluice::scheduler
