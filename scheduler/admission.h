#pragma once

#include <cstdint>
#include <span>

#include "kvcache/block_growth.h"
#include "scheduler/admission_policy.h"
#include "scheduler/block_forecast.h"
#include "scheduler/lockstep_peak.h"
#include "scheduler/safe_state.h"
#include "scheduler/sequence_load.h"

namespace sluice::scheduler {

/// What a policy decides on: the admitted sequences and, last, the candidate as if it were admitted with all blocks of
/// its prompt.
struct AdmissionView {
  std::span<const SequenceLoad> sequences;
  int32_t capacity = 0;
  int32_t shared = 0;  ///< blocks in several tables: there for all, so that what is left is for what each owns
  int32_t free = 0;
  kvcache::BlockGrowth growth{};
  bool is_jammed = false;  ///< somebody is paused now

  int64_t capacity_for_owned() const { return int64_t{capacity} - shared; }
};

/// `reserve`: what all will own at their caps fits. Never pauses anyone.
bool admit_by_reserve(const AdmissionView& view);
/// `plan`: all run to their caps together and release as they end; the peak fits.
bool admit_by_plan(const AdmissionView& view, LockstepPeak& peak);
/// `adaptive`: what `plan` admits, and beyond it what the forecast says will fit with a margin of z sigma, as long as
/// nobody is paused.
bool admit_by_adaptive(const AdmissionView& view, LockstepPeak& peak, const BlockForecast& forecast, double z);

/// The rule under which sequences start. Whatever the policy, the state after it is safe (SafeState), so that everyone
/// can run to the end without eviction. Keeps memory for its work; one thread.
class Admission {
 public:
  Admission(const LengthBook& lengths, const kvcache::BlockGrowth& growth) : forecast_(lengths, growth) {}

  bool admits(AdmissionPolicy policy, const AdmissionView& view, double z);

 private:
  SafeState safe_;
  LockstepPeak peak_;
  BlockForecast forecast_;
};

}  // namespace sluice::scheduler
