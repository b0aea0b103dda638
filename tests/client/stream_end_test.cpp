#include "client/stream_end.h"

#include <gtest/gtest.h>

#include "client/answer_builder.h"
#include "client/grpc_status.h"
#include "tests/client/support/scripted_server.h"

namespace sluice::client {
namespace {

using test_support::error_event;
using test_support::finished_event;
using test_support::prompt_info_event;
using test_support::tokens_event;

TEST(StreamEnd, AnAnswerWithoutUsageIsAnError) {
  StreamEnd end;
  end.observe(tokens_event("A", {1}));
  EXPECT_EQ(end.status(Status()).code(), StatusCode::kInternal);
}

TEST(StreamEnd, AnErrorEventIsTheStatus) {
  StreamEnd end;
  end.observe(tokens_event("A", {1}));
  end.observe(error_event(grpc::StatusCode::DEADLINE_EXCEEDED, "the deadline\npassed"));
  EXPECT_EQ(end.status(Status()), deadline_exceeded("the deadline passed"));
}

TEST(StreamEnd, AnErrorEventWithCodeOkIsStillAnError) {
  StreamEnd end;
  end.observe(error_event(grpc::StatusCode::OK, ""));
  EXPECT_EQ(end.status(Status()).code(), StatusCode::kInternal);
}

TEST(StreamEnd, AFailedCallWins) {
  StreamEnd end;
  end.observe(finished_event(1, 1));
  EXPECT_EQ(end.status(unavailable("gone")), unavailable("gone"));
}

TEST(StreamEnd, AWholeAnswerIsOk) {
  StreamEnd end;
  end.observe(finished_event(1, 1));
  EXPECT_TRUE(end.status(Status()).ok());
}

TEST(GrpcStatus, NumbersNobodyKnowsAreInternal) {
  EXPECT_EQ(status_code_from_wire(grpc::StatusCode::UNIMPLEMENTED), StatusCode::kInternal);
  EXPECT_EQ(status_code_from_wire(4711), StatusCode::kInternal);
  EXPECT_EQ(status_code_from_wire(-1), StatusCode::kInternal);
}

TEST(GrpcStatus, OutOfRangeIsAnInvalidArgument) {
  EXPECT_EQ(status_code_from_wire(grpc::StatusCode::OUT_OF_RANGE), StatusCode::kInvalidArgument);
  EXPECT_EQ(status_code_from_wire(grpc::StatusCode::RESOURCE_EXHAUSTED), StatusCode::kResourceExhausted);
}

TEST(AnswerBuilder, IgnoresAChoiceThatNobodyCanHaveAskedFor) {
  AnswerBuilder builder;
  builder.observe(tokens_event("x", {1}, -1));
  builder.observe(tokens_event("x", {1}, 64));
  builder.observe(tokens_event("x", {1}, 2'000'000'000));
  EXPECT_EQ(builder.answer().choices_size(), 0);
  builder.observe(tokens_event("x", {1}, 63));
  EXPECT_EQ(builder.answer().choices_size(), 64);
}

TEST(AnswerBuilder, SortsMixedChoices) {
  AnswerBuilder builder;
  builder.observe(prompt_info_event(5));
  builder.observe(tokens_event("b", {2}, 1));
  builder.observe(tokens_event("a", {1}, 0));
  builder.observe(tokens_event("B", {4}, 1));
  builder.observe(finished_event(5, 3));
  const v1::CompleteResponse& answer = builder.answer();
  ASSERT_EQ(answer.choices_size(), 2);
  EXPECT_EQ(answer.choices(0).text(), "a");
  EXPECT_EQ(answer.choices(0).reason(), v1::FINISH_REASON_LENGTH);
  EXPECT_EQ(answer.choices(1).text(), "bB");
  EXPECT_EQ(answer.choices(1).index(), 1);
  EXPECT_EQ(answer.choices(1).reason(), v1::FINISH_REASON_UNSPECIFIED);
  EXPECT_EQ(answer.usage().completion_tokens(), 3);
}

}  // namespace
}  // namespace sluice::client
