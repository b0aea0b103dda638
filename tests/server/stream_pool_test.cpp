#include "server/stream_pool.h"

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/completion_session.h"
#include "tests/server/byte_model.h"

namespace sluice::server {
namespace {

/// Promises its last event; may hold the pool's thread up until it is let go.
class WaitedSink final : public CompletionSink {
 public:
  explicit WaitedSink(std::shared_future<void> gate = {}) : gate_(std::move(gate)) {}

  Delivery deliver(CompletionEvent event) override {
    if (gate_.valid()) gate_.wait();
    ++count;
    if (is_last(event)) last.set_value(std::move(event));
    return Delivery::kTaken;
  }

  std::promise<CompletionEvent> last;
  int count = 0;

 private:
  const std::shared_future<void> gate_;
};

class StreamPoolTest : public ::testing::Test {
 protected:
  std::shared_ptr<WaitedSink> add(StreamPool& pool, RequestId id, std::shared_future<void> gate = {}) {
    auto sink = std::make_shared<WaitedSink>(std::move(gate));
    AnswerTerms terms;
    pool.add(id, std::make_unique<CompletionSession>(id, std::move(terms),
                                                     SessionServices{*tokenizer_, mailbox_, metrics_, clock_}, sink));
    return sink;
  }

  static std::vector<scheduler::TokenEvent> whole_request(RequestId id) {
    std::vector<scheduler::TokenEvent> events;
    events.push_back({id, scheduler::Accepted{}});
    events.push_back({id, scheduler::TokenSampled{0, {.token = 'a', .logprob = 0, .top = {}}, TimePoint{}}});
    events.push_back({id, scheduler::SequenceFinished{0, scheduler::FinishReason::kLength, {}}});
    return events;
  }

  const std::unique_ptr<engine::Tokenizer> tokenizer_ = byte_tokenizer();
  const SteadyClock clock_;
  scheduler::LoopStats stats_;
  Metrics metrics_{stats_, clock_, {}};
  scheduler::Mailbox mailbox_{10};
};

TEST_F(StreamPoolTest, SessionsThatAreLeftAtTheEndAreAbandoned) {
  std::shared_ptr<WaitedSink> sink;
  {
    StreamPool pool;
    sink = add(pool, RequestId{1});
  }
  const CompletionEvent last = sink->last.get_future().get();
  EXPECT_EQ(std::get<RequestError>(last).status.code(), StatusCode::kUnavailable);
}

TEST_F(StreamPoolTest, EventsOfUnknownRequestsAreDropped) {
  StreamPool pool;
  pool.deliver(whole_request(RequestId{99}));
  const auto sink = add(pool, RequestId{1});
  pool.deliver(whole_request(RequestId{1}));
  EXPECT_TRUE(std::holds_alternative<ChoiceEnd>(sink->last.get_future().get()));
}

TEST_F(StreamPoolTest, ARemovedRequestIsToldNothing) {
  const auto pool = std::make_unique<StreamPool>();
  const auto sink = add(*pool, RequestId{1});
  EXPECT_EQ(pool->session_count(), 1U);
  pool->remove(RequestId{1});
  EXPECT_EQ(pool->session_count(), 0U);
  EXPECT_EQ(sink->count, 0);
  EXPECT_EQ(sink.use_count(), 1);
}

TEST_F(StreamPoolTest, ADoneSessionGoesAndLetsItsConnectionGo) {
  StreamPool pool;
  const auto sink = add(pool, RequestId{1});
  pool.deliver(whole_request(RequestId{1}));
  EXPECT_TRUE(pool.wait_empty_until(TimePoint::max()));
  EXPECT_EQ(sink->count, 3);
}

TEST_F(StreamPoolTest, WaitingForEmptyEndsAtItsDeadline) {
  StreamPool pool;
  EXPECT_TRUE(pool.wait_empty_until(clock_.now()));
  const auto sink = add(pool, RequestId{1});
  EXPECT_FALSE(pool.wait_empty_until(clock_.now()));
}

TEST_F(StreamPoolTest, DeliveringNeverWaitsForTheWorker) {
  std::promise<void> gate;
  StreamPool pool;
  const auto held = add(pool, RequestId{1}, gate.get_future().share());
  const auto other = add(pool, RequestId{2});
  pool.deliver(whole_request(RequestId{1}));
  pool.deliver(whole_request(RequestId{2}));  // would hang here
  EXPECT_EQ(pool.session_count(), 2U);
  gate.set_value();
  EXPECT_TRUE(std::holds_alternative<ChoiceEnd>(other->last.get_future().get()));
  EXPECT_EQ(held->count, 3);
}

TEST_F(StreamPoolTest, WhatIsQueuedAtTheEndIsStillHandedOut) {
  std::promise<void> gate;
  std::shared_ptr<WaitedSink> sink;
  {
    StreamPool pool;
    sink = add(pool, RequestId{1}, gate.get_future().share());
    pool.deliver(whole_request(RequestId{1}));
    gate.set_value();
  }
  EXPECT_TRUE(std::holds_alternative<ChoiceEnd>(sink->last.get_future().get()));
}

}  // namespace
}  // namespace sluice::server
