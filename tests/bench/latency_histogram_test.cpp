#include "bench/latency_histogram.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/counter_random.h"

namespace sluice::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(LatencyHistogram, OfNothingTellsZero) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_EQ(histogram.percentile(0.5), Duration::zero());
  EXPECT_EQ(histogram.mean_ms(), 0);
  EXPECT_TRUE(histogram.buckets().empty());
}

TEST(B31_LatencyHistogram, PercentilesOfOneToAHundredAreTheirRanks) {
  LatencyHistogram histogram;
  for (int i = 100; i >= 1; --i) histogram.add(milliseconds(i));
  for (int i = 1; i <= 100; ++i) EXPECT_EQ(histogram.percentile(i / 100.0), milliseconds(i)) << i;
  EXPECT_EQ(histogram.percentile(0), milliseconds(1));
  EXPECT_EQ(histogram.mean_ms(), 50.5);
}

TEST(LatencyHistogram, IsWithinA512thOfTheTruth) {
  LatencyHistogram histogram;
  std::vector<int64_t> samples;
  for (uint64_t i = 0; i < 50'000; ++i) {
    // From nanoseconds to an hour, evenly in their logarithm.
    samples.push_back(static_cast<int64_t>(std::exp(random_unit(1, i) * std::log(3.6e12))));
    histogram.add(nanoseconds(samples.back()));
  }
  std::sort(samples.begin(), samples.end());
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<size_t>(std::ceil(share * 50'000 - 1e-6));
    const auto truth = static_cast<double>(samples[rank - 1]);
    EXPECT_NEAR(static_cast<double>(histogram.percentile(share).count()), truth, truth / 512 + 1) << share;
  }
}

TEST(LatencyHistogram, BucketsLieSideBySideAndHoldWhatIsInThem) {
  LatencyHistogram histogram;
  std::vector<int64_t> edges{0, 1, 1023, 1024, 1025, 1026, 2047, 2048, 2051, 2052, int64_t{1} << 40, INT64_MAX / 2};
  for (const int64_t ns : edges) histogram.add(nanoseconds(ns));
  int64_t count = 0;
  Duration last_end{};
  for (const LatencyHistogram::Bucket& bucket : histogram.buckets()) {
    EXPECT_GE(bucket.begin, last_end);
    EXPECT_LE((bucket.end - bucket.begin).count(), std::max<int64_t>(1, bucket.begin.count() / 512));
    EXPECT_EQ(std::count_if(edges.begin(), edges.end(),
                            [&](int64_t ns) { return ns >= bucket.begin.count() && ns < bucket.end.count(); }),
              bucket.count)
        << bucket.begin.count();
    last_end = bucket.end;
    count += bucket.count;
  }
  EXPECT_EQ(count, static_cast<int64_t>(edges.size()));
}

TEST(LatencyHistogram, MergedIsAsIfAllHadBeenAddedToOne) {
  LatencyHistogram all;
  LatencyHistogram even;
  LatencyHistogram odd;
  for (int i = 0; i < 1000; ++i) {
    all.add(nanoseconds(i * i * 977));
    (i % 2 == 0 ? even : odd).add(nanoseconds(i * i * 977));
  }
  LatencyHistogram merged;
  merged.merge(LatencyHistogram());
  merged.merge(odd);
  merged.merge(even);
  EXPECT_EQ(merged.count(), all.count());
  EXPECT_EQ(merged.min(), all.min());
  EXPECT_EQ(merged.max(), all.max());
  for (const double share : {0.1, 0.5, 0.99}) EXPECT_EQ(merged.percentile(share), all.percentile(share));
  EXPECT_EQ(merged.buckets().size(), all.buckets().size());
}

TEST(LatencyHistogram, ANegativeDurationCountsAsZero) {
  LatencyHistogram histogram;
  histogram.add(nanoseconds(-5));
  EXPECT_EQ(histogram.max(), Duration::zero());
  EXPECT_EQ(histogram.count(), 1);
}

}  // namespace
}  // namespace sluice::bench
