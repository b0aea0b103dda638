#include "server/trace_context.h"

#include <set>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

constexpr const char* kGood = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(TraceContext, ReadsTheIdsAndTheFlag) {
  const auto context = parse_traceparent(kGood);
  ASSERT_TRUE(context);
  EXPECT_EQ(to_hex(context->trace_id), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(to_hex(context->parent_span), "b7ad6b7169203331");
  EXPECT_TRUE(context->is_sampled);
  EXPECT_TRUE(context->has_parent());
  EXPECT_FALSE(parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")->is_sampled);
  EXPECT_TRUE(parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03")->is_sampled);
}

TEST(TraceContext, IgnoresWhatIsNone) {
  for (const char* const header : {
           "",
           "00",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
           "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
           "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "0g-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
       }) {
    EXPECT_FALSE(parse_traceparent(header)) << header;
  }
}

TEST(TraceContext, ReadsWhatItKnowsOfLaterVersions) {
  EXPECT_TRUE(parse_traceparent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
  EXPECT_TRUE(parse_traceparent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes"));
  EXPECT_FALSE(parse_traceparent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01what"));
}

TEST(TraceContext, FreshOnesDifferAndAreSampledByTheRatio) {
  std::set<std::string> ids;
  int sampled = 0;
  for (uint64_t number = 0; number < 1000; ++number) {
    const TraceContext context = fresh_trace(7, number, 0.25);
    EXPECT_FALSE(context.has_parent());
    ids.insert(to_hex(context.trace_id));
    sampled += context.is_sampled ? 1 : 0;
    EXPECT_TRUE(fresh_trace(7, number, 1).is_sampled);
    EXPECT_FALSE(fresh_trace(7, number, 0).is_sampled);
  }
  EXPECT_EQ(ids.size(), 1000U);
  EXPECT_NEAR(sampled, 250, 60);
  EXPECT_EQ(to_hex(fresh_trace(7, 1, 1).trace_id), to_hex(fresh_trace(7, 1, 0).trace_id));
}

}  // namespace
}  // namespace sluice::server
