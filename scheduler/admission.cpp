#include "scheduler/admission.h"

namespace sluice::scheduler {

Admission admit_by_reserve(const AdmissionView& view, int64_t final_blocks) {
  if (final_blocks > view.blocks.capacity) return {Verdict::kNeverFits, Shortage::kKv};
  if (view.running >= view.max_running) return {Verdict::kWait, Shortage::kRows};
  if (final_blocks > view.blocks.capacity - view.blocks.reserved) return {Verdict::kWait, Shortage::kKv};
  return {Verdict::kAdmit, Shortage::kNone};
}

}  // namespace sluice::scheduler
