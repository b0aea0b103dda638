#include "bench/admission/tick_cost.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/batch.h"
#include "kvcache/block_key.h"
#include "kvcache/shared_block_pool.h"
#include "scheduler/batch_builder.h"
#include "scheduler/scheduler.h"

namespace sluice::bench {
namespace {

constexpr int32_t kBlockSize = 16;
constexpr int32_t kPrompt = 128;
constexpr int32_t kAnswer = 4000;
constexpr int32_t kDrawnToken = 1;  // always
constexpr int32_t kOtherToken = 2;
constexpr auto kStepTime = std::chrono::milliseconds(10);

class TickRig {
 public:
  explicit TickRig(const TickCostConfig& config)
      : hasher_(std::array<std::byte, kvcache::BlockHasher::kSecretBytesMin>{}, "tick cost"),
        pool_(config.running * ((kPrompt + kAnswer) / kBlockSize), kBlockSize),
        scheduler_(limits_for(config), pool_, hasher_, false) {
    learn();
    for (int32_t i = 0; i < config.running; ++i) submit(kAnswer, kOtherToken);
    while (scheduler_.running_count() < config.running || has_prefill()) tick();
    for (int32_t i = 0; i < config.waiting; ++i) submit(kAnswer, kOtherToken);
    for (int i = 0; i < 100; ++i) tick();
    SLUICE_CHECK(scheduler_.running_count() == config.running && scheduler_.waiting_count() == config.waiting);
  }
  ~TickRig() { scheduler_.fail_all(unavailable("measured"), time_); }
  TickRig(const TickRig&) = delete;
  TickRig& operator=(const TickRig&) = delete;

  void tick() {
    const scheduler::StepPlan& plan = scheduler_.plan(time_);
    build(plan);
    engine::StepOutput output = answer();
    time_ += kStepTime;
    scheduler_.commit(plan, std::move(output), time_);
    scheduler_.take_events();
  }

  Duration measured_tick(const Clock& clock) {
    const TimePoint began = clock.now();
    const scheduler::StepPlan& plan = scheduler_.plan(time_);
    build(plan);
    const TimePoint built = clock.now();
    engine::StepOutput output = answer();
    time_ += kStepTime;
    const TimePoint stepped = clock.now();
    scheduler_.commit(plan, std::move(output), time_);
    const Duration took = (built - began) + (clock.now() - stepped);
    scheduler_.take_events();
    return took;
  }

 private:
  static scheduler::SchedulerConfig limits_for(const TickCostConfig& config) {
    return {.max_running = config.running + 1,
            .max_queued_requests = 2 * config.running + config.waiting,
            .tokens_per_step = 2 * config.running + 512,
            .admission = config.policy};
  }

  /// Some answers stop at once, so that lengths are known and the forecast has something to do.
  void learn() {
    for (int i = 0; i < 100; ++i) submit(kAnswer, kDrawnToken);
    while (scheduler_.has_work()) tick();
  }

  void submit(int32_t max_new_tokens, int32_t stop_token) {
    scheduler::Submission submission;
    submission.id = RequestId{++last_id_};
    submission.prompt.assign(kPrompt, kOtherToken);
    submission.max_new_tokens = max_new_tokens;
    submission.stop_token_ids = {stop_token};
    submission.arrival = time_;
    scheduler_.submit(std::move(submission), time_);
  }

  bool has_prefill() const {
    const auto& rows = scheduler_.running();
    return std::any_of(rows.begin(), rows.end(),
                       [](const scheduler::RunningRow& row) { return row.sequence->is_prefill(); });
  }
  void build(const scheduler::StepPlan& plan) { scheduler::build_batch(plan, pool_.growth(), batch_); }
  engine::StepOutput answer() const {
    engine::StepOutput output;
    output.samples.resize(batch_.samples.size());
    for (engine::SampledToken& sample : output.samples) sample.token = kDrawnToken;
    return output;
  }

  TimePoint time_{};
  uint64_t last_id_ = 0;
  kvcache::BlockHasher hasher_;
  kvcache::SharedBlockPool pool_;
  scheduler::Scheduler scheduler_;
  engine::Batch batch_;
};

}  // namespace

TickCost measure_ticks(const TickCostConfig& config, const Clock& clock) {
  TickRig rig(config);
  std::vector<double> ticks_us;
  ticks_us.reserve(static_cast<size_t>(config.ticks));
  for (int32_t i = 0; i < config.ticks; ++i) ticks_us.push_back(1e6 * to_seconds(rig.measured_tick(clock)));
  std::sort(ticks_us.begin(), ticks_us.end());
  const auto quantile = [&](double share) {
    return ticks_us[static_cast<size_t>(share * static_cast<double>(ticks_us.size()))];
  };
  return {.median_us = quantile(0.5), .p90_us = quantile(0.9), .p99_us = quantile(0.99)};
}

}  // namespace sluice::bench
