#include "scheduler/admission.h"

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

constexpr int32_t kBlockSize = 16;

/// A sequence with so many tokens in a table that holds them, `shared` of its blocks in other tables too.
SequenceLoad load_of(int32_t tokens, int32_t left, int32_t shared = 0) {
  const auto blocks = [](int32_t count) { return (count + kBlockSize - 1) / kBlockSize; };
  return {.table = blocks(tokens),
          .owned = blocks(tokens) - shared,
          .final_blocks = blocks(tokens + left),
          .tokens = tokens,
          .left = left};
}

AdmissionView view_of(std::span<const SequenceLoad> sequences, int32_t capacity, int32_t shared = 0) {
  int32_t free = capacity - shared;
  for (const SequenceLoad& sequence : sequences) free -= sequence.owned;
  return {.sequences = sequences, .capacity = capacity, .shared = shared, .free = free, .growth = {kBlockSize}};
}

/// Lengths known: so many answers have ended by themselves after `length` tokens.
LengthBook book_of(int32_t length, int32_t count = 100) {
  LengthBook book;
  for (int32_t i = 0; i < count; ++i) book.note_finished(0, length, false);
  book.refresh({});
  return book;
}

TEST(AdmissionByReserve, AdmitsUpToTheLastBlock) {
  const std::vector<SequenceLoad> sequences = {load_of(16, 48), load_of(32, 64)};  // 4 and 6 blocks at their caps
  EXPECT_FALSE(admit_by_reserve(view_of(sequences, 9)));
  EXPECT_TRUE(admit_by_reserve(view_of(sequences, 10)));
}

TEST(AdmissionByReserve, CountsSharedBlocksOnce) {
  const std::vector<SequenceLoad> sequences = {load_of(64, 16, 3), load_of(64, 16, 3)};  // 5 each, 3 of them the same
  EXPECT_FALSE(admit_by_reserve(view_of(sequences, 6, 3)));
  EXPECT_TRUE(admit_by_reserve(view_of(sequences, 7, 3)));
}

TEST(AdmissionByPlan, AdmitsWhatFitsOneAfterTheOther) {
  // The first has one block to go, the second ten: when the second needs its last, the first is long gone.
  const std::vector<SequenceLoad> sequences = {load_of(160, 16), load_of(16, 160)};
  LockstepPeak peak;
  EXPECT_FALSE(admit_by_reserve(view_of(sequences, 21)));
  EXPECT_TRUE(admit_by_plan(view_of(sequences, 13), peak)) << "11 and 2 at the end of the first";
  EXPECT_FALSE(admit_by_plan(view_of(sequences, 12), peak));
}

TEST(AdmissionByPlan, CountsSharedBlocksOnce) {
  const std::vector<SequenceLoad> sequences = {load_of(64, 16, 3), load_of(64, 16, 3)};
  LockstepPeak peak;
  EXPECT_FALSE(admit_by_plan(view_of(sequences, 6, 3), peak));
  EXPECT_TRUE(admit_by_plan(view_of(sequences, 7, 3), peak));
}

TEST(AdmissionByAdaptive, AdmitsBeyondThePlanWhatTheForecastCarries) {
  const std::vector<SequenceLoad> sequences(10, load_of(16, 512));
  LockstepPeak peak;
  const LengthBook short_answers = book_of(20);
  const LengthBook long_answers = book_of(500);
  const AdmissionView view = view_of(sequences, 60);
  EXPECT_FALSE(admit_by_plan(view, peak));
  EXPECT_TRUE(admit_by_adaptive(view, peak, BlockForecast(short_answers, {kBlockSize}), 1));
  EXPECT_FALSE(admit_by_adaptive(view, peak, BlockForecast(long_answers, {kBlockSize}), 1));
}

TEST(AdmissionByAdaptive, StaysWithThePlanWhileNothingIsKnown) {
  const std::vector<SequenceLoad> sequences(10, load_of(16, 512));
  const LengthBook unknown = book_of(20, OutputLengths::kFinishedMin - 1);
  LockstepPeak peak;
  EXPECT_FALSE(admit_by_adaptive(view_of(sequences, 60), peak, BlockForecast(unknown, {kBlockSize}), 0));
}

TEST(AdmissionByAdaptive, StaysWithThePlanWhileSomebodyIsPaused) {
  const std::vector<SequenceLoad> many(10, load_of(16, 512));
  const std::vector<SequenceLoad> one(1, load_of(16, 512));
  const LengthBook lengths = book_of(20);
  const BlockForecast forecast(lengths, {kBlockSize});
  LockstepPeak peak;
  AdmissionView view = view_of(many, 60);
  view.is_jammed = true;
  EXPECT_FALSE(admit_by_adaptive(view, peak, forecast, 1));
  view = view_of(one, 60);
  view.is_jammed = true;
  EXPECT_TRUE(admit_by_adaptive(view, peak, forecast, 1));
}

TEST(Admission, DemandsASafeStateWhateverThePolicyWouldSay) {
  // By the forecast both will end soon. If they did not, neither could get its last block.
  const std::vector<SequenceLoad> sequences = {load_of(160, 512), load_of(160, 512)};
  const LengthBook lengths = book_of(1);
  Admission admission(lengths, {kBlockSize});
  const AdmissionView tight = view_of(sequences, 51);  // 31 free, 32 to take for each
  EXPECT_TRUE(BlockForecast(lengths, {kBlockSize}).fits(sequences, 1, 51));
  EXPECT_FALSE(admission.admits(AdmissionPolicy::kAdaptive, tight, 1));
  EXPECT_TRUE(admission.admits(AdmissionPolicy::kAdaptive, view_of(sequences, 52), 1));
}

TEST(Admission, RefusesWhoseOwnPromptHasNoRoom) {
  const std::vector<SequenceLoad> sequences = {load_of(64, 1)};
  const LengthBook lengths;
  Admission admission(lengths, {kBlockSize});
  AdmissionView view = view_of(sequences, 64);
  view.free = -1;
  for (const AdmissionPolicy policy : {AdmissionPolicy::kReserve, AdmissionPolicy::kPlan, AdmissionPolicy::kAdaptive}) {
    EXPECT_FALSE(admission.admits(policy, view, 0));
  }
}

TEST(AdmissionPolicy, HasANameForEachAndReadsItBack) {
  for (const AdmissionPolicy policy : {AdmissionPolicy::kReserve, AdmissionPolicy::kPlan, AdmissionPolicy::kAdaptive}) {
    EXPECT_EQ(parse_policy(policy_name(policy)), policy);
  }
  for (const char* name : {"", "Plan", "reserve ", "none"}) EXPECT_EQ(parse_policy(name), std::nullopt) << name;
}

}  // namespace
}  // namespace sluice::scheduler
