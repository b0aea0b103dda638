#include "server/span_exporter.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

RequestRecord whole_answer() {
  RequestRecord record;
  record.id = RequestId{42};
  record.client_id = "mine-1";
  record.trace = *parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  record.tenant = "red";
  record.usage = {.prompt_tokens = 100, .completion_tokens = 11, .cached_tokens = 64};
  record.timing.arrival = TimePoint(milliseconds(1000));
  record.timing.queue = milliseconds(20);
  record.timing.prefill = milliseconds(30);
  record.timing.ttft = milliseconds(50);
  record.timing.tpot = milliseconds(10);
  record.timing.computed = TimePoint(milliseconds(1150));
  record.ended = TimePoint(milliseconds(1151));
  return record;
}

Json spans_of(const RequestRecord& record) {
  const TracedRequest traced{record, std::chrono::seconds(1'700'000'000), 5};
  const Json body = Json::parse(otlp_json({&traced, 1}, {"sluice", "1.2.3", "tiny"}));
  return body["resourceSpans"][0]["scopeSpans"][0]["spans"];
}

Json value_of(const Json& span, const std::string& key) {
  for (const Json& attribute : span["attributes"])
    if (attribute["key"] == key) return attribute["value"].begin().value();
  return nullptr;
}

TEST(OtlpJson, ARequestIsAServerSpanWithItsPartsInIt) {
  const Json spans = spans_of(whole_answer());
  ASSERT_EQ(spans.size(), 5U);
  const Json& root = spans[0];
  EXPECT_EQ(root["traceId"], "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(root["parentSpanId"], "b7ad6b7169203331");
  EXPECT_EQ(root["name"], "text_completion tiny");
  EXPECT_EQ(root["kind"], 2);
  EXPECT_EQ(root["startTimeUnixNano"], "1700000001000000000");
  EXPECT_EQ(root["endTimeUnixNano"], "1700000001151000000");
  EXPECT_EQ(value_of(root, "gen_ai.usage.input_tokens"), "100");
  EXPECT_EQ(value_of(root, "gen_ai.usage.output_tokens"), "11");
  EXPECT_EQ(value_of(root, "sluice.time_to_first_token_seconds"), 0.05);
  EXPECT_EQ(value_of(root, "sluice.tenant"), "red");
  EXPECT_EQ(value_of(root, "sluice.client_request.id"), "mine-1");
  EXPECT_FALSE(root.contains("status"));
  const char* const names[] = {"", "queue", "prefill", "decode", "delivery"};
  for (size_t i = 1; i < 5; ++i) {
    EXPECT_EQ(spans[i]["name"], names[i]);
    EXPECT_EQ(spans[i]["parentSpanId"], root["spanId"]);
    EXPECT_EQ(spans[i]["traceId"], root["traceId"]);
    EXPECT_NE(spans[i]["spanId"], spans[i - 1]["spanId"]);
    EXPECT_EQ(spans[i]["kind"], 1);
    // Each begins where the one before ended; the first with the request.
    EXPECT_EQ(spans[i]["startTimeUnixNano"], i == 1 ? root["startTimeUnixNano"] : spans[i - 1]["endTimeUnixNano"]);
  }
  EXPECT_EQ(spans[4]["endTimeUnixNano"], root["endTimeUnixNano"]);
}

TEST(OtlpJson, WhatNeverHappenedHasNoSpan) {
  RequestRecord refused = whole_answer();
  refused.outcome = Outcome::kRefused;
  refused.was_accepted = false;
  refused.error = "the queue is full";
  const Json spans = spans_of(refused);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0]["status"]["code"], 2);
  EXPECT_EQ(spans[0]["status"]["message"], "the queue is full");
  EXPECT_EQ(value_of(spans[0], "error.type"), "refused");
  RequestRecord expired = whole_answer();
  expired.outcome = Outcome::kDeadline;
  expired.usage.completion_tokens = 0;
  EXPECT_EQ(spans_of(expired).size(), 2U);
}

TEST(OtlpJson, ARequestWithoutAParentBeginsItsTrace) {
  RequestRecord record = whole_answer();
  record.trace = fresh_trace(1, 2, 1);
  EXPECT_FALSE(spans_of(record)[0].contains("parentSpanId"));
}

TEST(OtlpJson, NamesFromOutsideNeedNotBeText) {
  RequestRecord record = whole_answer();
  record.tenant = "a\"\n\xff";
  EXPECT_EQ(value_of(spans_of(record)[0], "sluice.tenant"), "a\"\n\xef\xbf\xbd");
}

/// Takes bodies, or refuses them, and lets a test wait for them.
class Collector {
 public:
  SpanExporter::Post post() {
    return [this](const std::string& body) {
      std::unique_lock lock(mutex_);
      opened_.wait(lock, [this] { return !is_closed_; });
      if (refuses_) {
        ++refusals_;
        changed_.notify_all();
        return unavailable("no");
      }
      spans_ += Json::parse(body)["resourceSpans"][0]["scopeSpans"][0]["spans"].size();
      changed_.notify_all();
      return Status();
    };
  }
  void set_refuses(bool refuses) {
    const std::lock_guard lock(mutex_);
    refuses_ = refuses;
  }
  void set_closed(bool closed) {
    const std::lock_guard lock(mutex_);
    is_closed_ = closed;
    opened_.notify_all();
  }
  void wait_for_spans(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return spans_ >= count; });
  }
  void wait_for_refusal() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return refusals_ > 0; });
  }
  size_t spans() {
    const std::lock_guard lock(mutex_);
    return spans_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable opened_;
  bool refuses_ = false;
  bool is_closed_ = false;
  size_t spans_ = 0;
  size_t refusals_ = 0;
};

class SpanExporterTest : public ::testing::Test {
 protected:
  SpanExporter::Parts parts() {
    return {{"sluice", "1", "tiny"},
            collector_.post(),
            clock_,
            [] { return std::chrono::system_clock::now(); },
            logger_,
            3};
  }

  SteadyClock clock_;
  Collector collector_;
  std::FILE* log_ = std::tmpfile();
  Logger logger_{log_, LogLevel::kError, [] { return std::chrono::system_clock::now(); }};
};

TEST_F(SpanExporterTest, SendsWhatIsSampled) {
  SpanExporter exporter(parts());
  RequestRecord record = whole_answer();
  record.trace.is_sampled = false;
  exporter.note(record);
  record.trace.is_sampled = true;
  exporter.note(record);
  collector_.wait_for_spans(5);
  EXPECT_EQ(collector_.spans(), 5U);
}

TEST_F(SpanExporterTest, SendsWhatWaitsWhenItEnds) {
  {
    SpanExporter exporter(parts());
    for (int i = 0; i < 300; ++i) exporter.note(whole_answer());
  }
  EXPECT_EQ(collector_.spans(), 1500U);
}

TEST_F(SpanExporterTest, CountsWhatItDrops) {
  collector_.set_refuses(true);
  SpanExporter exporter(parts());
  exporter.note(whole_answer());
  collector_.wait_for_refusal();
  collector_.set_refuses(false);
  exporter.note(whole_answer());
  collector_.wait_for_spans(5);
  EXPECT_EQ(exporter.dropped(), 1U);
}

TEST_F(SpanExporterTest, ItsQueueHasALimit) {
  collector_.set_closed(true);
  SpanExporter exporter(parts());
  // What the sender has in hand comes on top.
  const size_t sent = SpanExporter::kQueueMax + SpanExporter::kBatchMax + 10;
  for (size_t i = 0; i < sent; ++i) exporter.note(whole_answer());
  EXPECT_GE(exporter.dropped(), 10U);
  EXPECT_LE(exporter.dropped(), 10U + SpanExporter::kBatchMax);
  collector_.set_closed(false);
  collector_.wait_for_spans(5 * SpanExporter::kQueueMax);
}

}  // namespace
}  // namespace sluice::server
