#include "server/metric_bounds.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "server/config.h"

namespace sluice::server {
namespace {

std::string fault_of(const std::string& text) {
  const auto bounds = parse_bounds("metrics.queue_buckets", text);
  return bounds.ok() ? "" : bounds.status().message();
}

TEST(MetricBounds, ReadsNumbersWithCommas) {
  EXPECT_EQ(*parse_bounds("k", "0.5"), MetricBounds::Bounds({0.5}));
  EXPECT_EQ(*parse_bounds("k", "0.001, 0.5,2 , 1e3"), MetricBounds::Bounds({0.001, 0.5, 2, 1000}));
}

TEST(MetricBounds, NamesWhatIsWrong) {
  EXPECT_EQ(fault_of("a"), "metrics.queue_buckets must be numbers from 0.000001 with commas between, not \"a\"");
  for (const char* const text :
       {"", " ", ",", "1,", "1,,2", "0", "-1", "nan", "inf", "1e-7", "0.1,0.10000000000000002", "1 2", "0x10"})
    EXPECT_NE(fault_of(text), "") << text;
  EXPECT_EQ(fault_of("1, 1"), "metrics.queue_buckets must ascend, but 1 does not clearly exceed the one before");
  EXPECT_EQ(fault_of("2, 1"), "metrics.queue_buckets must ascend, but 1 does not clearly exceed the one before");
}

TEST(MetricBounds, HoldUpTo64) {
  std::string text = "1";
  for (int i = 2; i <= 64; ++i) text += "," + std::to_string(i);
  EXPECT_EQ(parse_bounds("k", text)->size(), 64U);
  EXPECT_EQ(fault_of(text + ",65"), "metrics.queue_buckets may hold at most 64 bounds");
}

TEST(MetricBounds, TakeTheListsThatAreGiven) {
  MetricsSection section;
  section.end_to_end_buckets = "1,2";
  const auto bounds = metric_bounds(section);
  EXPECT_EQ(bounds->end_to_end, MetricBounds::Bounds({1, 2}));
  EXPECT_EQ(bounds->queue, MetricBounds().queue);
  section.token_buckets = "x";
  EXPECT_EQ(metric_bounds(section).status().field(), "metrics.token_buckets");
}

TEST(MetricBounds, DefaultsAscendAndHoldThoseOfOpenTelemetry) {
  const MetricBounds bounds;
  for (const auto* list : {&bounds.time_to_first_token, &bounds.time_per_output_token, &bounds.queue,
                           &bounds.end_to_end, &bounds.tokens}) {
    EXPECT_TRUE(std::ranges::is_sorted(*list, std::less_equal<>()));
    EXPECT_LE(list->size(), 64U);
  }
  for (const double bound : {0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92})
    EXPECT_TRUE(std::ranges::binary_search(bounds.end_to_end, bound)) << bound;
}

}  // namespace
}  // namespace sluice::server
