#include "scheduler/length_book.h"

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

void finish(LengthBook& book, int32_t entry, int32_t count, int32_t length) {
  for (int32_t i = 0; i < count; ++i) book.note_finished(entry, length, false);
}

TEST(LengthBook, ForetellsAsForEverybodyUntilATenantHasEnoughOfHisOwn) {
  LengthBook book;
  const int32_t first = book.entry_of(0);
  const int32_t second = book.entry_of(1);
  EXPECT_NE(first, second);
  finish(book, first, 100, 50);
  finish(book, second, OutputLengths::kFinishedMin - 1, 10);
  book.refresh({});
  EXPECT_EQ(&book.at(second), &book.at(0));
  finish(book, second, 1, 10);
  book.refresh({});
  EXPECT_LT(book.at(second).survival(0, 10), 0.1);
  EXPECT_GT(book.at(first).survival(0, 10), 0.9);
  EXPECT_NEAR(book.at(0).survival(0, 10), 101.0 / 122, 1e-9) << "everybody's: 21 of 121 end by 10, and one never";
}

TEST(LengthBook, FindsATenantsEntryAgain) {
  LengthBook book;
  const int32_t entry = book.entry_of(7);
  book.entry_of(3);
  EXPECT_EQ(book.entry_of(7), entry);
}

TEST(LengthBook, GivesThe65thTenantEverybodysEntry) {
  LengthBook book;
  for (int32_t tenant = 0; tenant < 64; ++tenant) EXPECT_EQ(book.entry_of(tenant), tenant + 1);
  EXPECT_EQ(book.entry_of(64), 0);
  EXPECT_EQ(book.entry_of(1000), 0);
  EXPECT_EQ(book.entry_of(63), 64);
}

TEST(LengthBook, CensorsATenantsEstimateByHisOwnRunningOnesOnly) {
  LengthBook book;
  const int32_t mine = book.entry_of(0);
  const int32_t other = book.entry_of(1);
  finish(book, mine, 21, 10);
  finish(book, other, 21, 10);
  book.refresh(std::vector<SequenceLoad>{{.drawn = 20, .lengths = other}});
  EXPECT_NEAR(book.at(mine).survival(0, 10), 1.0 / 22, 1e-9);
  EXPECT_NEAR(book.at(other).survival(0, 10), 2.0 / 23, 1e-9);
  EXPECT_NEAR(book.at(0).survival(0, 10), 2.0 / 44, 1e-9);
}

TEST(LengthBook, LosesTrustForTheTenantAndForEverybody) {
  LengthBook book;
  const int32_t mine = book.entry_of(0);
  const int32_t other = book.entry_of(1);
  finish(book, mine, 21, 10);
  finish(book, other, 21, 10);
  book.refresh({});
  for (int i = 0; i < 20; ++i) book.note_drawn(mine, 9, false);
  EXPECT_LT(book.at(mine).trust(), 0.5);
  EXPECT_LT(book.at(0).trust(), 0.5);
  EXPECT_EQ(book.at(other).trust(), 1);
}

}  // namespace
}  // namespace sluice::scheduler
