#include "server/grpc_message.h"

#include <string>

#include <gmock/gmock.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include "sluice/v1/inference.pb.h"
#include "tests/server/raw_calls.h"
#include "tests/server/test_daemon.h"

namespace sluice::server {
namespace {

using ::testing::HasSubstr;

Status read_error(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  v1::CompleteRequest request;
  return read_message({&slice, 1}, request);
}

TEST(GrpcMessage, BytesThatAreNoMessageAreRefusedByItsName) {
  // A length behind which nothing comes, a field number of 0, a varint without end.
  for (const std::string bytes : {"\x12\x05", "\x02\x01", "\x40\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}) {
    const Status status = read_error(bytes);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("can't be read as a sluice.v1.CompleteRequest"));
  }
}

TEST(GrpcMessage, AStringThatIsNotUtf8IsNamedByItsPath) {
  EXPECT_EQ(read_error("\x0a\x01\xff").message(), "model must be valid UTF-8");
  EXPECT_EQ(read_error("\x12\x02\xc3\x28").message(), "prompt.text must be valid UTF-8");
  const Status stop = read_error(
      "\x0a\x01m"
      "\x32\x06\x12\x01o\x12\x01\xff");
  EXPECT_EQ(stop.message(), "stopping.stop[1] must be valid UTF-8");
  EXPECT_EQ(stop.field(), "stopping.stop[1]");
}

TEST(GrpcMessage, WhatIsWrittenIsRead) {
  v1::CompleteRequest empty;
  EXPECT_TRUE(read_message(write_message(empty), empty).ok());
  v1::CompleteRequest request = make_request("é", 3);
  request.mutable_stopping()->add_stop(std::string(100'000, 's'));
  v1::CompleteRequest read;
  ASSERT_TRUE(read_message(write_message(request), read).ok());
  EXPECT_EQ(read.SerializeAsString(), request.SerializeAsString());
}

TEST(GrpcMessage, EveryMethodSaysThatItCannotReadAMessage) {
  TestDaemon daemon;
  const auto channel = daemon.new_channel();
  for (const std::string method : {"StreamComplete", "Complete", "Tokenize", "Detokenize", "GetModel", "GetLoad"}) {
    const RawAnswer answer = call_with_bytes(channel, "/sluice.v1.Inference/" + method, "\x0a\x05");
    EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_THAT(answer.status.error_message(), HasSubstr("can't be read")) << method;
  }
  EXPECT_THAT(daemon.core().metrics().scrape(), HasSubstr("outcome=\"invalid\"} 2")) << "of completions only";
  EXPECT_EQ(stream(*daemon.new_stub(), make_request("x", 3)).text(), "abc");
}

TEST(GrpcMessage, EveryMethodWithTextSaysThatItIsNotUtf8AndLogsNothing) {
  TestDaemon daemon;
  const auto channel = daemon.new_channel();
  ::testing::internal::CaptureStderr();
  for (const std::string method : {"StreamComplete", "Complete", "Tokenize"}) {
    const RawAnswer answer = call_with_bytes(channel, "/sluice.v1.Inference/" + method, "\x0a\x01\xff");
    EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_EQ(answer.status.error_message(),
              (method == "Tokenize" ? "text" : "model") + std::string(" must be valid UTF-8"));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace sluice::server
