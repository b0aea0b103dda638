#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/test_daemon.h"

namespace sluice::server {
namespace {

using ::testing::HasSubstr;

constexpr auto kPatience = std::chrono::seconds(60);

/// A stream that a test reads event by event.
struct OpenStream {
  OpenStream(v1::Inference::Stub& stub, const v1::CompleteRequest& request)
      : reader(stub.StreamComplete(&context, request)) {}

  /// Reads up to the first event with tokens.
  bool read_first_token() {
    v1::CompleteEvent event;
    while (reader->Read(&event)) {
      if (event.has_tokens()) return true;
    }
    return false;
  }

  /// The last event there is.
  v1::CompleteEvent read_to_end() {
    v1::CompleteEvent event, last;
    while (reader->Read(&event)) last = event;
    return last;
  }

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::CompleteEvent>> reader;
};

TEST(B21_DisconnectOverGrpc, a_ACancelledStreamGivesItsBlocksBack) {
  TestDaemon daemon;
  daemon.executor().hold();
  const auto stub = daemon.new_stub();
  OpenStream call(*stub, make_request("x", 400));
  daemon.executor().let(2);
  ASSERT_TRUE(call.read_first_token());
  EXPECT_GT(daemon.core().stats().blocks_used, 0);
  call.context.TryCancel();
  EXPECT_EQ(call.reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(daemon.calls_end());
  daemon.executor().release();
  EXPECT_TRUE(daemon.becomes_idle());
  EXPECT_TRUE(eventually(
      [&] { return daemon.core().metrics().scrape().find("outcome=\"cancelled\"} 1") != std::string::npos; }));
}

TEST(B21_DisconnectOverGrpc, c_ACancelledUnaryCallGivesItsBlocksBack) {
  TestDaemon daemon;
  daemon.executor().hold();
  const auto stub = daemon.new_stub();
  grpc::ClientContext context;
  auto done = std::async(std::launch::async, [&] {
    v1::CompleteResponse response;
    return stub->Complete(&context, make_request("x", 400), &response);
  });
  EXPECT_TRUE(eventually([&] { return daemon.core().stats().running == 1; }));
  context.TryCancel();
  EXPECT_EQ(done.get().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(daemon.calls_end());
  daemon.executor().release();
  EXPECT_TRUE(daemon.becomes_idle());
}

TEST(B21_DisconnectOverGrpc, d_ManyCancelledAtOnceLeaveNothingBehind) {
  TestDaemon daemon;
  daemon.executor().hold();
  const auto stub = daemon.new_stub();
  std::vector<std::unique_ptr<OpenStream>> calls;
  for (int i = 0; i < 50; ++i) calls.push_back(std::make_unique<OpenStream>(*stub, make_request("x", 100)));
  daemon.executor().let(1);
  for (const auto& call : calls) call->context.TryCancel();
  for (const auto& call : calls) EXPECT_EQ(call->reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(daemon.calls_end());
  daemon.executor().release();
  EXPECT_TRUE(daemon.becomes_idle());
  EXPECT_EQ(stream(*stub, make_request("x", 3)).text(), "abc");
}

TEST(GrpcOverload, ADeadlineEndsARunningRequest) {
  TestDaemon daemon;
  daemon.executor().hold();
  const auto stub = daemon.new_stub();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  auto call = std::async(std::launch::async, [&] {
    v1::CompleteResponse response;
    return stub->Complete(&context, make_request("x", 400), &response);
  });
  EXPECT_EQ(call.get().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  // The step is held, so it would have run on; where five seconds were too few, the daemon never saw it.
  if (daemon.core().stats().running == 0) GTEST_SKIP() << "a machine that stood still";
  EXPECT_TRUE(daemon.calls_end());
  daemon.executor().release();
  EXPECT_TRUE(daemon.becomes_idle());
  EXPECT_TRUE(eventually(
      [&] { return daemon.core().metrics().scrape().find("outcome=\"deadline\"} 1") != std::string::npos; }));
}

/// How a unary call ended.
struct UnaryEnd {
  grpc::Status status;
  std::string retry_after_ms;  ///< trailing metadata; empty when there is none
};

UnaryEnd complete(v1::Inference::Stub& stub, const v1::CompleteRequest& request) {
  grpc::ClientContext context;
  v1::CompleteResponse response;
  UnaryEnd end{stub.Complete(&context, request, &response), {}};
  const auto& trailing = context.GetServerTrailingMetadata();
  if (const auto found = trailing.find("retry-after-ms"); found != trailing.end()) {
    end.retry_after_ms.assign(found->second.data(), found->second.size());
  }
  return end;
}

TEST(B26_OverloadOverGrpc, b_AFullQueueRefusesAtOnceAndSaysWhenToTryAgain) {
  TestDaemonOptions options;
  options.config.scheduler.max_running = 1;
  options.config.scheduler.max_queued_requests = 2;
  TestDaemon daemon(options);
  daemon.executor().hold();
  const auto stub = daemon.new_stub();
  std::vector<std::future<UnaryEnd>> calls;
  for (int i = 0; i < 10; ++i) {
    calls.push_back(std::async(std::launch::async, [&] { return complete(*stub, make_request("x", 10)); }));
  }
  EXPECT_TRUE(eventually([&] { return daemon.core().stats().refused == 7; }));  // while the step is held
  daemon.executor().release();
  int served = 0;
  for (auto& call : calls) {
    const UnaryEnd end = call.get();
    served += end.status.ok();
    if (end.status.ok()) continue;
    EXPECT_EQ(end.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    ASSERT_FALSE(end.retry_after_ms.empty());
    EXPECT_GE(std::stoi(end.retry_after_ms), 1);
  }
  EXPECT_EQ(served, 3);
  EXPECT_TRUE(daemon.becomes_idle());
}

grpc::Status explain(v1::Inference::Stub& stub, grpc::ClientContext& context) {
  v1::ExplainResponse response;
  return stub.Explain(&context, make_request("x", 10), &response);
}

TEST(GrpcOverload, QuestionsBeyondABoundAreRefusedAtOnceAndTheOthersAnswered) {
  constexpr int kTooMany = 8;
  TestDaemon daemon;
  daemon.executor().hold();
  const auto stub = daemon.new_stub();
  OpenStream running(*stub, make_request("x", 10));
  ASSERT_TRUE(eventually([&] { return daemon.core().stats().running == 1; }));
  std::atomic<int> refused{0};
  std::vector<std::future<grpc::Status>> questions;
  for (int i = 0; i < scheduler::Mailbox::kQuestionsMax + kTooMany; ++i) {
    questions.push_back(std::async(std::launch::async, [&] {
      grpc::ClientContext context;
      const grpc::Status status = explain(*stub, context);
      refused += status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED ? 1 : 0;
      return status;
    }));
  }
  EXPECT_TRUE(eventually([&] { return refused == kTooMany; }));  // while the step is held
  daemon.executor().release();
  int answered = 0;
  for (auto& question : questions) answered += question.get().ok() ? 1 : 0;
  EXPECT_EQ(answered, scheduler::Mailbox::kQuestionsMax);
  EXPECT_EQ(running.read_to_end().finished().usage().completion_tokens(), 10);
  EXPECT_TRUE(daemon.calls_end());
}

TEST(GrpcOverload, AQuestionWhoseClientLeftHarmsNobody) {
  TestDaemon daemon;
  daemon.executor().hold();
  const auto stub = daemon.new_stub();
  OpenStream running(*stub, make_request("x", 10));
  ASSERT_TRUE(eventually([&] { return daemon.core().stats().running == 1; }));
  grpc::ClientContext context;
  auto question = std::async(std::launch::async, [&] { return explain(*stub, context); });
  context.TryCancel();
  EXPECT_EQ(question.get().error_code(), grpc::StatusCode::CANCELLED);
  daemon.executor().release();
  EXPECT_EQ(running.read_to_end().finished().usage().completion_tokens(), 10);
  EXPECT_TRUE(daemon.calls_end());
  EXPECT_TRUE(daemon.becomes_idle());
}

TEST(GrpcOverload, ASlowReaderEndsAloneWithAnError) {
  TestDaemonOptions options;
  options.context_length = 30'000;
  options.block_count = 3'000;
  options.config.server.stream_buffer_tokens = 2'000;
  TestDaemon daemon(options);
  const auto slow_stub = daemon.new_stub();
  v1::CompleteRequest request = make_request("x", 20'000);
  request.mutable_response()->set_logprobs(20);  // large events fill the connection's window soon
  OpenStream slow(*slow_stub, request);
  const auto stub = daemon.new_stub();
  EXPECT_EQ(stream(*stub, make_request("x", 1'000)).text().size(), 1000U);
  EXPECT_TRUE(daemon.becomes_idle());
  const v1::CompleteEvent last = slow.read_to_end();
  ASSERT_TRUE(last.has_error());
  EXPECT_EQ(last.error().code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(last.error().message(), HasSubstr("reader too slow"));
  EXPECT_FALSE(last.error().retryable()) << "the same reader would be too slow again";
  EXPECT_GT(last.error().ledger().end_to_end_ms(), 0);
  EXPECT_TRUE(slow.reader->Finish().ok());
}

TEST(B29_ShutdownOverGrpc, a_DrainingLetsARunningStreamFinishAndTurnsNewOnesAway) {
  TestDaemon daemon;
  daemon.executor().hold();
  const auto stub = daemon.new_stub();
  OpenStream call(*stub, make_request("x", 50));
  daemon.executor().let(1);
  ASSERT_TRUE(call.read_first_token());
  auto drained = std::async(std::launch::async, [&] {
    const TimePoint deadline = daemon.clock().now() + kPatience;
    return daemon.core().drain(deadline, deadline);
  });
  EXPECT_TRUE(eventually([&] { return daemon.core().intake().closed(); }));
  EXPECT_EQ(stream(*stub, make_request("x", 1)).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  daemon.executor().release();
  EXPECT_EQ(call.read_to_end().finished().usage().completion_tokens(), 50);
  EXPECT_TRUE(drained.get());
}

TEST(B29_ShutdownOverGrpc, b_WhatOutlastsTheDrainTimeGetsAnError) {
  TestDaemonOptions options;
  options.context_length = 500'000;
  options.block_count = 40'000;
  options.config.server.stream_buffer_tokens = 500'000;
  TestDaemon daemon(options);
  daemon.executor().hold();
  const auto stub = daemon.new_stub();
  OpenStream call(*stub, make_request("x", 400'000));
  daemon.executor().let(1);
  ASSERT_TRUE(call.read_first_token());
  auto drained = std::async(std::launch::async, [&] {
    const TimePoint now = daemon.clock().now();
    return daemon.core().drain(now, now + kPatience);
  });
  EXPECT_TRUE(eventually([&] {
    daemon.executor().let(1);
    return drained.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }));
  EXPECT_FALSE(drained.get());
  const v1::CompleteEvent last = call.read_to_end();
  ASSERT_TRUE(last.has_error());
  EXPECT_EQ(last.error().code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(last.error().retryable());
  EXPECT_TRUE(daemon.becomes_idle());
}

TEST(B29_ShutdownOverGrpc, f_QueuedRequestsAreAnsweredWhenTheCoreEnds) {
  TestDaemonOptions options;
  options.config.scheduler.max_running = 1;
  auto daemon = std::make_unique<TestDaemon>(options);
  daemon->executor().hold();
  const auto stub = daemon->new_stub();
  OpenStream running(*stub, make_request("x", 50));
  EXPECT_TRUE(eventually([&] { return daemon->core().stats().running == 1; }));
  OpenStream queued(*stub, make_request("x", 50));
  daemon.reset();
  // A sync reader's status comes behind its last message.
  running.read_to_end();
  queued.read_to_end();
  EXPECT_FALSE(running.reader->Finish().ok());
  EXPECT_FALSE(queued.reader->Finish().ok());
}

TEST(GrpcOverload, ThirtyTwoStreamsAtOnceAreAllWhole) {
  TestDaemon daemon({.config = {}, .block_count = 512, .context_length = 512, .script = "abcdefghij"});
  const auto stub = daemon.new_stub();
  std::vector<std::future<StreamedAnswer>> answers;
  for (int i = 0; i < 32; ++i) {
    answers.push_back(std::async(std::launch::async, [&] { return stream(*stub, make_request("x", 100)); }));
  }
  for (auto& answer : answers) {
    const StreamedAnswer whole = answer.get();
    EXPECT_EQ(whole.text().size(), 100U);
    EXPECT_TRUE(whole.last().has_finished());
  }
  EXPECT_TRUE(daemon.becomes_idle());
}

}  // namespace
}  // namespace sluice::server
