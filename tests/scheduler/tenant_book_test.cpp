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

TEST(TenantBook, LiftsWhoComesToTheLeastOfThosePresent) {
  TenantBook book;
  const int32_t anna = book.enter("anna");
  const int32_t bert = book.enter("bert");
  book.charge_prompt(anna, 100);
  book.charge_prompt(bert, 70);
  EXPECT_EQ(book.served(book.enter("carl")), 70);
}

TEST(TenantBook, LiftsWhoReturnsButTakesNothingFromHim) {
  TenantBook book;
  const int32_t anna = book.enter("anna");
  const int32_t bert = book.enter("bert");
  book.charge_prompt(anna, 10);
  book.leave(anna);
  book.charge_prompt(bert, 50);
  EXPECT_EQ(book.served(anna), 10);
  book.enter("anna");
  EXPECT_EQ(book.served(anna), 50) << "nothing was saved up while away";
  book.charge_prompt(anna, 100);
  book.leave(anna);
  book.enter("anna");
  EXPECT_EQ(book.served(anna), 150) << "nor is a debt forgiven";
}

TEST(TenantBook, DoesNotLiftWhoIsHere) {
  TenantBook book;
  const int32_t anna = book.enter("anna");
  const int32_t bert = book.enter("bert");
  book.charge_prompt(bert, 50);
  book.enter("anna");
  EXPECT_EQ(book.served(anna), 0);
}

TEST(TenantBook, CountsWhatRuns) {
  TenantBook book;
  const int32_t anna = book.enter("anna");
  book.note_running(anna, 2);
  book.note_running(anna, -1);
  EXPECT_EQ(book.running(anna), 1);
}

TEST(TenantBook, ForgetsWhoIsAwayAndWasServedLeastWhenThereAreTooMany) {
  TenantBook book;
  for (int32_t i = 0; i < TenantBook::kTenantsMax; ++i) {
    const int32_t tenant = book.enter("t" + std::to_string(i));
    book.charge_prompt(tenant, 1000 + i);  // on top of the 1000 of the first, to which all later ones are lifted
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
  EXPECT_EQ(book.served(book.enter("t8")), 2008) << "still known";
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
}

}  // namespace
}  // namespace sluice::scheduler
