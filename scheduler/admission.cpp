#include "scheduler/admission.h"

namespace sluice::scheduler {
bool admit_by_reserve(const AdmissionView& view) {
  int64_t owned = 0;
  for (const SequenceLoad& sequence : view.sequences) owned += sequence.finally_owned();
  return owned <= view.capacity_for_owned();
}

bool admit_by_plan(const AdmissionView& view, LockstepPeak& peak) {
  return peak.of(view.sequences, view.growth) <= view.capacity_for_owned();
}

bool admit_by_adaptive(const AdmissionView& view, LockstepPeak& peak, const BlockForecast& forecast, double z) {
  if (admit_by_plan(view, peak)) return true;
  return !view.is_jammed && forecast.fits(view.sequences, z, view.capacity_for_owned());
}

bool Admission::admits(AdmissionPolicy policy, const AdmissionView& view, double z) {
  if (view.free < 0) return false;
  safe_.assign(view.sequences, view.free);
  if (!safe_.is_safe()) return false;
  switch (policy) {
    case AdmissionPolicy::kReserve:
      return admit_by_reserve(view);
    case AdmissionPolicy::kPlan:
      return admit_by_plan(view, peak_);
    case AdmissionPolicy::kAdaptive:
      return admit_by_adaptive(view, peak_, forecast_, z);
  }
  return false;
}

}  // namespace sluice::scheduler
