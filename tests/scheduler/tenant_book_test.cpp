#include "scheduler/tenant_book.h"

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

TEST(TenantBook, KeepsATenantsPlaceWhileHeIsHere) {
  TenantBook book;
  const int32_t anna = book.enter("anna");
  const int32_t bert = book.enter("bert");
  EXPECT_NE(anna, bert);
  EXPECT_EQ(book.enter("anna"), anna);
  EXPECT_EQ(book.present(anna), 2);
  EXPECT_EQ(book.name(bert), "bert");
  book.leave(anna);
  EXPECT_EQ(book.present(anna), 1);
}

TEST(TenantBook, ChargesOutputTwice) {
  TenantBook book;
  const int32_t anna = book.enter("anna");
  book.charge_prompt(anna, 10);
  book.charge_output(anna, 3);
  EXPECT_EQ(book.served(anna), 16);
}

/// A tenant of whom a request waits.
int32_t wait(TenantBook& book, const char* name) {
  const int32_t tenant = book.enter(name);
  book.begin_waiting(tenant);
  return tenant;
}

TEST(TenantBook, LiftsWhoBeginsToWaitToTheLeastOfThoseWhoWait) {
  TenantBook book;
  const int32_t anna = wait(book, "anna");
  const int32_t bert = wait(book, "bert");
  book.charge_prompt(anna, 100);
  book.charge_prompt(bert, 70);
  const int32_t carl = book.enter("carl");
  EXPECT_EQ(book.served(carl), 0);
  book.begin_waiting(carl);
  EXPECT_EQ(book.served(carl), 70);
}

TEST(TenantBook, LiftsWhoReturnsButTakesNothingFromHim) {
  TenantBook book;
  const int32_t anna = wait(book, "anna");
  const int32_t bert = wait(book, "bert");
  book.charge_prompt(anna, 10);
  book.end_waiting(anna);
  book.charge_prompt(bert, 50);
  EXPECT_EQ(book.served(anna), 10);
  book.begin_waiting(anna);
  EXPECT_EQ(book.served(anna), 50) << "nothing was saved up while away";
  book.charge_prompt(anna, 100);
  book.end_waiting(anna);
  book.begin_waiting(anna);
  EXPECT_EQ(book.served(anna), 150) << "nor is a debt forgiven";
}

TEST(TenantBook, LiftsToWhoWaitedLastWhenNobodyWaits) {
  TenantBook book;
  const int32_t anna = wait(book, "anna");
  book.end_waiting(anna);
  book.charge_prompt(anna, 1000);
  const int32_t bert = wait(book, "bert");
  EXPECT_EQ(book.served(bert), 1000) << "or anna would now wait for all that she was served while nobody else came";
  book.begin_waiting(anna);
  EXPECT_EQ(book.served(anna), 1000);
}

TEST(TenantBook, GivesNoCreditForAStreamThatKeepsRunning) {
  TenantBook book;
  const int32_t anna = wait(book, "anna");
  book.end_waiting(anna);  // one stream of hers runs on and on
  const int32_t bert = wait(book, "bert");
  book.end_waiting(bert);
  book.charge_output(anna, 1000);
  book.charge_output(bert, 50'000);
  book.begin_waiting(bert);
  book.begin_waiting(anna);
  EXPECT_EQ(book.served(anna), book.served(bert));
}

TEST(TenantBook, DoesNotLiftWhoWaitsAlready) {
  TenantBook book;
  const int32_t anna = wait(book, "anna");
  const int32_t bert = wait(book, "bert");
  book.charge_prompt(bert, 50);
  book.begin_waiting(anna);
  EXPECT_EQ(book.served(anna), 0);
}

TEST(TenantBook, CountsWhatRuns) {
  TenantBook book;
  const int32_t anna = book.enter("anna");
  book.note_running(anna, 2);
  book.note_running(anna, -1);
  EXPECT_EQ(book.running(anna), 1);
}

TEST(TenantBook, SharesTheRowsAmongThoseWhoSentSomethingLately) {
  TenantBook book;
  book.set_rows(9);
  const int32_t loud = book.enter("loud");
  book.note_running(loud, 4);
  book.begin_waiting(loud);
  EXPECT_EQ(book.share(), std::nullopt) << "one alone has no share to keep to";
  EXPECT_FALSE(book.has_share(loud));
  const int32_t quiet = book.enter("quiet");
  book.begin_waiting(quiet);
  EXPECT_EQ(book.share(), 4);
  EXPECT_TRUE(book.has_share(loud));
  EXPECT_FALSE(book.has_share(quiet));
  book.set_rows(10);
  EXPECT_FALSE(book.has_share(loud));
  book.set_rows(1);
  EXPECT_EQ(book.share(), 1) << "or nobody could start";
}

TEST(TenantBook, ForgetsWhoIsAwayAndWasServedLeastWhenThereAreTooMany) {
  TenantBook book;
  for (int32_t i = 0; i < TenantBook::kTenantsMax; ++i) {
    const int32_t tenant = book.enter("t" + std::to_string(i));
    book.charge_prompt(tenant, 1000 + i);
  }
  for (const char* away : {"t7", "t8", "t9"}) {
    const int32_t tenant = book.enter(away);
    book.leave(tenant);
    book.leave(tenant);
  }
  const int32_t place = book.enter("one more");
  EXPECT_EQ(place, 7);
  EXPECT_EQ(book.name(place), "one more");
  EXPECT_EQ(book.running(place), 0);
  EXPECT_EQ(book.served(book.enter("t8")), 1008) << "still known";
}

TEST(TenantBook, DoesNotForgetWhoWaitedLast) {
  TenantBook book;
  const int32_t last = wait(book, "t0");
  book.end_waiting(last);
  book.leave(last);
  for (int32_t i = 1; i < TenantBook::kTenantsMax; ++i) {
    const int32_t tenant = book.enter("t" + std::to_string(i));
    book.charge_prompt(tenant, i);
    book.leave(tenant);
  }
  EXPECT_EQ(book.enter("one more"), 1);
  EXPECT_EQ(book.name(last), "t0");
}

TEST(TenantBook, GrowsWhenNobodyIsAway) {
  TenantBook book;
  for (int32_t i = 0; i < TenantBook::kTenantsMax; ++i) book.enter("t" + std::to_string(i));
  EXPECT_EQ(book.enter("one more"), TenantBook::kTenantsMax);
}

TEST(TenantBookDeathTest, KnowsWhoIsHere) {
  TenantBook book;
  const int32_t anna = book.enter("anna");
  book.leave(anna);
  EXPECT_DEATH(book.leave(anna), "present > 0");
  EXPECT_DEATH(book.end_waiting(anna), "waiting > 0");
}

}  // namespace
}  // namespace sluice::scheduler
