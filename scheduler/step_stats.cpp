#include "scheduler/step_stats.h"

namespace sluice::scheduler {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/// One thread writes, so no read-modify-write is needed.
void add(std::atomic<double>& total, double value) {
  total.store(total.load(kRelaxed) + value, kRelaxed);
}

}  // namespace

void StepStats::note(const StepPlan& plan, int64_t samples, const engine::StepCosts& costs, Duration took,
                     Duration predicted) {
  const double seconds = to_seconds(took);
  decode_rows.observe(plan.decode_rows);
  tokens.observe(plan.decode_rows + plan.prefill_tokens);
  if (plan.prefill_tokens > 0) prefill_tokens.observe(plan.prefill_tokens);
  if (plan.prefill_tokens == 0) {
    decode_seconds.observe(seconds);
  } else {
    (plan.decode_rows == 0 ? prefill_seconds : mixed_seconds).observe(seconds);
  }
  const auto read = static_cast<double>(costs.bytes(plan.context_tokens, samples));
  const auto made = static_cast<double>(
      costs.macs(plan.decode_rows + plan.prefill_tokens, samples, plan.context_tokens + plan.prefill_pairs));
  add(bytes, read);
  add(macs, made);
  if (took <= Duration::zero()) return;
  if (predicted > Duration::zero()) predicted_ratio.observe(to_seconds(predicted) / seconds);
  last_bytes_per_second.store(read / seconds, kRelaxed);
  last_macs_per_second.store(made / seconds, kRelaxed);
}

}  // namespace sluice::scheduler
