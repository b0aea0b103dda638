#include <gtest/gtest.h>

#include "scheduler/batch_builder.h"
#include "tests/kvcache/allocation_count.h"
#include "tests/scheduler/scheduler_rig.h"

namespace sluice::scheduler {
namespace {

/// A rig that counts what plan, build and commit allocate.
class CountingRig : public SchedulerRig {
 public:
  using SchedulerRig::SchedulerRig;

  int64_t counted_tick() {
    const int64_t before = kvcache::allocation_count();
    const StepPlan& plan = scheduler_.plan(clock_.now());
    build_batch(plan, pool_.growth(), batch_);
    int64_t count = kvcache::allocation_count() - before;
    engine::StepOutput output = executor_.step(batch_).value();
    clock_.advance(std::chrono::milliseconds(10));
    const int64_t before_commit = kvcache::allocation_count();
    scheduler_.commit(plan, std::move(output), clock_.now());
    count += kvcache::allocation_count() - before_commit;
    scheduler_.take_events();
    return count;
  }
};

TEST(SteadyState, AllocatesNothingWhileRowsDecode) {
  for (const char* policy : {"reserve", "plan", "adaptive"}) {
    SchedulerConfig config = small_config(16, 100);
    config.admission = policy;
    CountingRig rig(config, 1000, 4);
    for (uint64_t id = 1; id <= 40; ++id) rig.submit(ending_after(id, 4, 60, 4));
    rig.finish();
    for (uint64_t id = 101; id <= 116; ++id) rig.submit(make_submission(id, 4, 120));
    for (int i = 0; i < 60; ++i) rig.counted_tick();  // buffers get as large as they will be
    int64_t count = 0;
    for (int i = 0; i < 40; ++i) count += rig.counted_tick();
    EXPECT_EQ(rig.scheduler_.running_count(), 16);
    EXPECT_EQ(count, 0) << policy;
    rig.finish();
  }
}

TEST(SteadyState, AllocatesNothingWhileRingsGoRound) {
  CountingRig rig(small_config(16, 100), 1000, windowed_growth(4, 1, 2, 16, 16));
  for (uint64_t id = 1; id <= 16; ++id) rig.submit(make_submission(id, 4, 120));
  for (int i = 0; i < 90; ++i) rig.counted_tick();  // buffers get as large as they will be
  int64_t count = 0;
  for (int i = 0; i < 20; ++i) count += rig.counted_tick();
  EXPECT_EQ(rig.scheduler_.running_count(), 16);
  EXPECT_EQ(count, 0);
  rig.finish();
}

TEST(SteadyState, AllocatesNothingWhileSomebodyWaits) {
  for (const char* policy : {"reserve", "plan", "adaptive"}) {
    SchedulerConfig config = small_config(16, 100);
    config.admission = policy;
    CountingRig rig(config, 128, 4);
    for (uint64_t id = 1; id <= 8; ++id) rig.submit(make_submission(id, 4, 120));
    rig.finish();  // buffers get as large as they will be
    for (uint64_t id = 11; id <= 18; ++id) rig.submit(make_submission(id, 4, 120));
    for (int i = 0; i < 50; ++i) rig.counted_tick();
    EXPECT_GT(rig.scheduler_.waiting_count(), 0);
    int64_t count = 0;
    for (int i = 0; i < 40; ++i) count += rig.counted_tick();
    EXPECT_EQ(count, 0) << policy;
    rig.finish();
  }
}

}  // namespace
}  // namespace sluice::scheduler
