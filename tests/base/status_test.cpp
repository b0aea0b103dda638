#include "base/status.h"

#include <memory>
#include <sstream>

#include <gtest/gtest.h>

namespace sluice {
namespace {

Result<int> half_of(int value) {
  if (value % 2 != 0) return invalid_field("value", "must be even");
  return value / 2;
}

Result<int> quarter_of(int value) {
  SLUICE_ASSIGN_OR_RETURN(const int half, half_of(value));
  return half_of(half);
}

TEST(Status, NamesTheFieldAtFault) {
  const Status status = half_of(3).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.field(), "value");
  EXPECT_EQ(status.message(), "value must be even");
}

TEST(Status, PrintsItsCodeAndMessage) {
  std::ostringstream out;
  out << unavailable("draining") << '|' << Status();
  EXPECT_EQ(out.str(), "UNAVAILABLE: draining|OK");
}

TEST(Status, ContextKeepsFieldAndRetryAfter) {
  const Status status =
      Status(resource_exhausted("full").with_field("n").with_retry_after_ms(250)).with_context("queue");
  EXPECT_EQ(status.message(), "queue: full");
  EXPECT_EQ(status.field(), "n");
  EXPECT_EQ(status.retry_after_ms(), 250);
}

TEST(Result, PassesFailuresUp) {
  EXPECT_EQ(quarter_of(8).value(), 2);
  EXPECT_FALSE(quarter_of(6).ok());
  EXPECT_FALSE(quarter_of(7).ok());
}

TEST(Result, MovesWhatItHolds) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(ResultDeathTest, ValueOfAFailureAborts) {
  Result<int> failed(internal_error("no"));
  EXPECT_DEATH(static_cast<void>(failed.value()), "broken invariant");
}

}  // namespace
}  // namespace sluice
