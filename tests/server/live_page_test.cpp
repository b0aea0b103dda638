#include "server/live_page.h"

#include <limits>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/shortage.h"
#include "server/page_text.h"
#include "tests/server/kept_log.h"

namespace sluice::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

/// The page's routes over statistics that the test writes, under a clock that it moves.
class LivePageTest : public ::testing::Test {
 protected:
  LivePageTest() {
    stats_->blocks_total = 100;
    page_.open(front_);
  }

  HttpResponse get(const std::string& path, const std::string& query = "") {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.query = query;
    return std::get<HttpResponse>(HttpRouter(page_.routes()).decide(request));
  }
  Json live(const std::string& query = "") {
    const HttpResponse response = get("/live", query);
    EXPECT_EQ(response.status, 200) << response.body;
    return parse_json(response.body).value();
  }
  void append_steps(int count) {
    for (int i = 0; i < count; ++i)
      stats_->timeline.append({.ended = clock_.now(), .took = std::chrono::milliseconds(4), .decode_rows = 3});
  }
  static ServedModel tiny_model() {
    ServedModel model;
    model.name = "tiny <one>";
    model.device = "cpu";
    model.version = "1.2";
    model.context_length = 64;
    return model;
  }
  static std::string header(const HttpResponse& response, const std::string& name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return {};
  }

  ManualClock clock_;
  Readiness readiness_ = Readiness::kReady;
  const std::unique_ptr<scheduler::LoopStats> stats_ = std::make_unique<scheduler::LoopStats>();
  const std::unique_ptr<RecentLatencies> recent_ = std::make_unique<RecentLatencies>();
  KeptLog log_;
  scheduler::Mailbox mailbox_{1};
  LimitsDesk limits_{{.max_running = 8}, mailbox_, log_.logger()};
  const ServedModel model_ = tiny_model();
  LivePage page_{clock_, "1.2", [this] { return readiness_; }};
  const LiveFront front_{.model = model_,
                         .stats = *stats_,
                         .recent = *recent_,
                         .limits = limits_,
                         .stall_timeout = std::chrono::seconds(1),
                         .block_size = 16,
                         .has_chat_template = true};
};

TEST_F(LivePageTest, ASinceThatIsNoWholeNumberIsRefusedByName) {
  for (const char* query : {"since=", "since=-1", "since=1.5", "since=x", "since=1x", "since=18446744073709551616",
                            "a=1&since=%31", "since= 1"}) {
    const HttpResponse response = get("/live", query);
    EXPECT_EQ(response.status, 400) << query;
    EXPECT_EQ(parse_json(response.body).value()["error"]["param"], "since");
  }
}

TEST_F(LivePageTest, TellsTheStepsAfterSince) {
  append_steps(5);
  EXPECT_EQ(live()["steps"]["number"], Json({1, 2, 3, 4, 5}));
  EXPECT_EQ(live("other=7&since=3")["steps"]["number"], Json({4, 5}));
  EXPECT_EQ(live("since=5")["steps"]["number"], Json::array());
  EXPECT_EQ(live("since=18446744073709551615")["steps"]["number"], Json::array());
  EXPECT_EQ(live("since=18446744073709551615")["steps"]["newest"], 5);
  EXPECT_EQ(live("sincere=x")["steps"]["newest"], 5) << "another member of the query";
}

TEST_F(LivePageTest, EveryColumnOfStepsHasAValueForEachStepAndTheirNumberIsBounded) {
  append_steps(3000);
  const HttpResponse response = get("/live");
  EXPECT_LT(response.body.size(), 64U << 10U);
  const Json answer = live();
  const Json& steps = answer["steps"];
  for (const auto& [name, column] : steps.items()) {
    if (name == "newest") continue;
    EXPECT_EQ(column.size(), kLiveStepsMax) << name;
  }
  EXPECT_EQ(steps["number"].back(), 3000);
  EXPECT_EQ(steps["number"].front(), 3000 - static_cast<int>(kLiveStepsMax) + 1);
}

TEST_F(LivePageTest, TheLargestFiguresStayWithinTheBound) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  clock_.advance(std::chrono::hours(24 * 365));
  for (size_t i = 0; i < kLiveStepsMax; ++i) {
    stats_->timeline.append({.ended = clock_.now(),
                             .took = std::chrono::hours(1),
                             .predicted = std::chrono::hours(1),
                             .decode_rows = kMost,
                             .prefill_tokens = kMost,
                             .running = kMost,
                             .waiting = kMost,
                             .blocks_used = kMost,
                             .blocks_reserved = kMost,
                             .blocks_cached = kMost});
  }
  EXPECT_LT(get("/live").body.size(), 64U << 10U);
}

TEST_F(LivePageTest, StepsStandOnTheDaemonsOwnTime) {
  clock_.advance(std::chrono::milliseconds(2500));
  stats_->timeline.append({.ended = clock_.now(),
                           .took = std::chrono::microseconds(4250),
                           .predicted = std::chrono::microseconds(4000),
                           .decode_rows = 3,
                           .prefill_tokens = 40});
  append_steps(1);
  clock_.advance(std::chrono::seconds(1));
  const Json answer = live();
  EXPECT_EQ(answer["uptime_s"], 3.5);
  EXPECT_EQ(answer["steps"]["ended_s"][0], 2.5);
  EXPECT_EQ(answer["steps"]["took_ms"][0], 4.25);
  EXPECT_EQ(answer["steps"]["predicted_ms"], Json({4.0, nullptr}));
  EXPECT_EQ(answer["steps"]["prefill_tokens"], Json({40, 0}));
}

TEST_F(LivePageTest, WhatNobodyKnowsIsNullAndNeverNan) {
  const HttpResponse response = get("/live");
  for (const char* number : {":nan", ":-nan", ":inf", ":NaN", ":Inf"})
    EXPECT_THAT(response.body, Not(HasSubstr(number)));
  EXPECT_EQ(live()["latency"]["ttft_ms"], Json({{"count", 0}, {"p50", nullptr}, {"p90", nullptr}, {"p99", nullptr}}));
}

TEST_F(LivePageTest, TellsRecentLatencies) {
  recent_->token_gap.observe(clock_.now(), std::chrono::milliseconds(20));
  const Json itl = live()["latency"]["itl_ms"];
  EXPECT_EQ(itl["count"], 1);
  EXPECT_NEAR(itl["p99"].get<double>(), 20, 0.5);
  clock_.advance(std::chrono::seconds(63));
  EXPECT_EQ(live()["latency"]["itl_ms"]["count"], 0);
}

TEST_F(LivePageTest, TellsLimitsAsTheyAreNow) {
  EXPECT_EQ(live()["limits"]["max_running"], 8);
  ASSERT_TRUE(limits_.change("", [](auto& limits) { limits.max_running = 4; }).ok());
  EXPECT_EQ(live()["limits"]["max_running"], 4);
  EXPECT_EQ(live()["limits"]["admission"], "adaptive");
}

TEST_F(LivePageTest, PutsTheQueueUnderWhatItsFirstRequestLacks) {
  stats_->waiting = 3;
  stats_->waiting_for = static_cast<int32_t>(scheduler::Shortage::kRows);
  EXPECT_EQ(live()["requests"]["waiting_by_reason"], Json({{"kv", 0}, {"rows", 3}, {"tenant", 0}, {"prefix", 0}}));
}

TEST_F(LivePageTest, TellsTheStateTheDaemonIsIn) {
  EXPECT_EQ(live()["state"], "ready");
  EXPECT_EQ(live()["reason"], nullptr);
  clock_.advance(std::chrono::seconds(10));
  stats_->tick_began_ns = std::chrono::nanoseconds(std::chrono::seconds(1)).count();
  EXPECT_EQ(live()["state"], "stalled");
  EXPECT_EQ(live()["reason"], "the serving loop's current tick takes too long");
  readiness_ = Readiness::kDraining;
  EXPECT_EQ(live()["state"], "draining");
}

TEST_F(LivePageTest, TellsWhyStepsFail) {
  for (int32_t i = 0; i < kFailedStepsInARow; ++i) stats_->failures.note_failure("rank 1 is gone \xff");
  EXPECT_EQ(live()["state"], "failing");
  EXPECT_EQ(live()["reason"], "the last 3 steps failed, the last one with: rank 1 is gone \xEF\xBF\xBD");
  EXPECT_EQ(live()["totals"]["failed_steps"], 3);
  stats_->failures.note_success();
  EXPECT_EQ(live()["state"], "ready");
  EXPECT_EQ(live()["reason"], nullptr);
}

TEST_F(LivePageTest, BeforeThereIsAModelItSaysSo) {
  const LivePage page(clock_, "1.2", [] { return Readiness::kLoading; });
  HttpRequest request;
  request.method = "GET";
  request.path = "/live";
  const auto response = std::get<HttpResponse>(HttpRouter(page.routes()).decide(request));
  EXPECT_EQ(response.body, "{\"state\":\"loading\",\"version\":\"1.2\"}\n");
}

TEST_F(LivePageTest, ThePageMayRunItsOwnScriptAndNothingElse) {
  const HttpResponse page = get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  const std::string policy = header(page, "Content-Security-Policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(policy, HasSubstr("connect-src 'self'"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_EQ(header(page, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(header(get("/live"), "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(header(get("/live", "since=x"), "Cache-Control"), "no-store");
}

TEST_F(LivePageTest, ThePageIsOneDocumentWithoutOthersAssets) {
  const std::string page = get("/").body;
  EXPECT_THAT(page, HasSubstr(std::string(page_style())));
  EXPECT_THAT(page, HasSubstr(std::string(page_script())));
  EXPECT_THAT(page, EndsWith("</html>\n"));
  for (const char* outside : {"src=", "@import", "url(", "innerHTML", "insertAdjacentHTML", "document.write", "eval("})
    EXPECT_THAT(page, Not(HasSubstr(outside))) << outside;
}

}  // namespace
}  // namespace sluice::server
