#include "scheduler/admission.h"

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

AdmissionView view_of(int32_t reserved, int32_t running) {
  return {
      .blocks = {.capacity = 10, .free = 10, .used = 0, .reserved = reserved}, .running = running, .max_running = 4};
}

TEST(Admission, NeverTakesWhatIsLargerThanTheCache) {
  const Admission never{Verdict::kNeverFits, Shortage::kKv};
  EXPECT_EQ(admit_by_reserve(view_of(0, 0), 11), never);
  EXPECT_EQ(admit_by_reserve(view_of(10, 4), 11), never);
  EXPECT_EQ(admit_by_reserve(view_of(0, 0), int64_t{1} << 40), never);
}

TEST(Admission, WaitsForBlocksThatOthersHaveReservedThoughTheyAreFree) {
  EXPECT_EQ(admit_by_reserve(view_of(7, 1), 4), (Admission{Verdict::kWait, Shortage::kKv}));
  EXPECT_EQ(admit_by_reserve(view_of(10, 1), 1), (Admission{Verdict::kWait, Shortage::kKv}));
}

TEST(Admission, WaitsForARow) {
  EXPECT_EQ(admit_by_reserve(view_of(0, 4), 1), (Admission{Verdict::kWait, Shortage::kRows}));
}

TEST(Admission, AdmitsUpToTheLastBlockAndTheLastRow) {
  const Admission admitted{Verdict::kAdmit, Shortage::kNone};
  EXPECT_EQ(admit_by_reserve(view_of(0, 0), 10), admitted);
  EXPECT_EQ(admit_by_reserve(view_of(7, 3), 3), admitted);
}

}  // namespace
}  // namespace sluice::scheduler
