#include "server/grpc_service.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "tests/server/raw_calls.h"
#include "tests/server/test_daemon.h"

namespace sluice::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

grpc::Status complete(v1::Inference::Stub& stub, const v1::CompleteRequest& request, v1::CompleteResponse& response) {
  grpc::ClientContext context;
  return stub.Complete(&context, request, &response);
}

Result<std::unique_ptr<GrpcServer>> start_server(const ListenAddress& address, GrpcServices& services) {
  return GrpcServer::start(address, kGrpcListen, grpc_options({}),
                           {{v1::Inference::service_full_name(), services.inference}});
}

TEST(GrpcService, BeforeTheModelIsLoadedEveryCallIsUnavailable) {
  GrpcServices service;
  const auto server = start_server({"127.0.0.1", 0}, service);
  ASSERT_TRUE(server.ok());
  const auto channel = grpc::CreateChannel((*server)->address().text(), grpc::InsecureChannelCredentials());
  const auto stub = v1::Inference::NewStub(channel);
  EXPECT_EQ(stream(*stub, make_request("x", 1)).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  v1::CompleteResponse response;
  EXPECT_EQ(complete(*stub, make_request("x", 1), response).error_code(), grpc::StatusCode::UNAVAILABLE);
  grpc::ClientContext context;
  v1::GetModelResponse model;
  EXPECT_EQ(stub->GetModel(&context, {}, &model).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(health_status(channel, ""), 2);
}

TEST(GrpcServer, ABusyPortIsRefusedWithItsAddress) {
  GrpcServices service;
  const auto first = start_server({"127.0.0.1", 0}, service);
  ASSERT_TRUE(first.ok());
  GrpcServices other;
  const auto second = start_server((*first)->address(), other);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(second.status().message(),
            "can't listen on " + (*first)->address().text() +
                ": the port is in use by another program, or this machine has no such address; choose another with "
                "--grpc-listen or server.grpc_listen, port 0 picks a free one");
}

TEST(GrpcService, AnInvalidRequestIsAStatusThatNamesTheFieldAndWritesNothing) {
  TestDaemon daemon;
  const auto stub = daemon.new_stub();
  v1::CompleteRequest request = make_request("x", 1);
  request.mutable_sampling()->set_top_p(1.5);
  const StreamedAnswer answer = stream(*stub, request);
  EXPECT_TRUE(answer.events.empty());
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answer.status.error_message(), StartsWith("sampling.top_p "));
  v1::CompleteResponse response;
  const grpc::Status unary = complete(*stub, request, response);
  EXPECT_EQ(unary.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(unary.error_message(), answer.status.error_message());
}

TEST(B22_NeverFitsOverGrpc, a_WhatNeverFitsIsRefusedAtOnce) {
  TestDaemon daemon({.config = {}, .block_count = 4, .context_length = 256, .script = "a"});
  const auto stub = daemon.new_stub();
  const StreamedAnswer answer = stream(*stub, make_request(std::string(100, 'a'), 8));
  EXPECT_TRUE(answer.events.empty());
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(stream(*stub, make_request("a", 8)).text(), "aaaaaaaa");
  EXPECT_TRUE(daemon.becomes_idle());
}

TEST(B26_GrpcSize, a_AFiveMebibytePromptGetsAClearAnswerAndTheConnectionGoesOn) {
  TestDaemon daemon;
  const auto stub = daemon.new_stub();
  const StreamedAnswer answer = stream(*stub, make_request(std::string(5 << 20, 'a'), 1));
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("5242880"));
  EXPECT_THAT(answer.status.error_message(), HasSubstr("512"));
  EXPECT_EQ(stream(*stub, make_request("x", 3)).text(), "abc");
}

TEST(B26_GrpcSize, c_AnUnknownModelIsNotFound) {
  TestDaemon daemon;
  v1::CompleteRequest request = make_request("x", 1);
  request.set_model("gpt-5");
  EXPECT_EQ(stream(*daemon.new_stub(), request).status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(B26_GrpcSize, d_AnUnknownFieldIsIgnored) {
  TestDaemon daemon;
  v1::CompleteRequest request = make_request("x", 2);
  request.GetReflection()->MutableUnknownFields(&request)->AddVarint(1000, 7);
  EXPECT_EQ(stream(*daemon.new_stub(), request).text(), "ab");
}

TEST(GrpcService, AStreamTellsItsPromptFirstAndItsLedgerLast) {
  TestDaemon daemon;
  const StreamedAnswer answer = stream(*daemon.new_stub(), make_request("xy", 5));
  ASSERT_TRUE(answer.status.ok());
  ASSERT_TRUE(answer.events.front().has_prompt_info());
  EXPECT_EQ(answer.events.front().prompt_info().prompt_tokens(), 2);
  EXPECT_EQ(answer.events.front().prompt_info().model(), "bytes");
  EXPECT_EQ(answer.text(), "abcde");
  ASSERT_TRUE(answer.last().has_finished());
  const v1::Finished& finished = answer.last().finished();
  EXPECT_EQ(finished.reason(), v1::FINISH_REASON_LENGTH);
  EXPECT_EQ(finished.usage().completion_tokens(), 5);
  const v1::Ledger& ledger = finished.ledger();
  const double parts =
      ledger.queue_ms() + ledger.prefill_ms() + ledger.decode_ms() + ledger.interference_ms() + ledger.delivery_ms();
  EXPECT_NEAR(parts, ledger.end_to_end_ms(), 1.0);
  EXPECT_GT(ledger.ttft_ms(), 0);
}

TEST(GrpcService, UnaryAndStreamedAnswersAgree) {
  TestDaemon daemon;
  const auto stub = daemon.new_stub();
  v1::CompleteRequest request = make_request("xy", 6);
  request.mutable_stopping()->add_stop("de");
  request.mutable_response()->set_logprobs(2);
  request.mutable_response()->set_echo(true);
  const StreamedAnswer streamed = stream(*stub, request);
  v1::CompleteResponse whole;
  ASSERT_TRUE(complete(*stub, request, whole).ok());
  ASSERT_EQ(whole.choices_size(), 1);
  EXPECT_EQ(whole.choices(0).text(), "abc");
  EXPECT_EQ(streamed.text(), "abc");
  EXPECT_EQ(whole.choices(0).reason(), v1::FINISH_REASON_STOP);
  EXPECT_EQ(whole.choices(0).stop(), "de");
  EXPECT_EQ(whole.usage().completion_tokens(), 5);
  EXPECT_EQ(streamed.last().finished().usage().completion_tokens(), 5);
  std::string streamed_tokens, whole_tokens;
  for (const v1::CompleteEvent& event : streamed.events) {
    for (const v1::Token& token : event.tokens().tokens()) streamed_tokens += token.ShortDebugString() + "\n";
  }
  for (const v1::Token& token : whole.choices(0).tokens()) whole_tokens += token.ShortDebugString() + "\n";
  EXPECT_EQ(streamed_tokens, whole_tokens);
  EXPECT_THAT(whole_tokens, HasSubstr("bytes: \"e\""));
  ASSERT_EQ(whole.prompt_tokens_size(), 2);
  EXPECT_FALSE(whole.prompt_tokens(0).has_logprob());
  EXPECT_TRUE(whole.prompt_tokens(1).has_logprob());
  EXPECT_EQ(whole.prompt_tokens(1).top_size(), 2);
  EXPECT_TRUE(daemon.becomes_idle());
}

TEST(B02_StopStringOverGrpc, a_ForcedTokensStopTheStreamInsideTheText) {
  TestDaemon daemon({.config = {}, .block_count = 64, .context_length = 512, .script = " no"});
  v1::CompleteRequest request = make_request("Hi", 100);
  request.mutable_stopping()->add_stop("no n");
  const StreamedAnswer answer = stream(*daemon.new_stub(), request);
  EXPECT_EQ(answer.text(), " ");
  EXPECT_EQ(answer.last().finished().reason(), v1::FINISH_REASON_STOP);
  EXPECT_EQ(answer.last().finished().usage().completion_tokens(), 5);
  EXPECT_TRUE(daemon.becomes_idle());
}

TEST(B17_MaxTokensOverGrpc, a_b_ZeroGivesNoTokenAndScoresThePromptIfAsked) {
  TestDaemon daemon;
  const auto stub = daemon.new_stub();
  v1::CompleteRequest request = make_request("xyz", 0);
  v1::CompleteResponse response;
  ASSERT_TRUE(complete(*stub, request, response).ok());
  EXPECT_EQ(response.choices(0).text(), "");
  EXPECT_EQ(response.choices(0).reason(), v1::FINISH_REASON_LENGTH);
  request.mutable_response()->set_echo(true);
  request.mutable_response()->set_logprobs(1);
  ASSERT_TRUE(complete(*stub, request, response).ok());
  EXPECT_EQ(response.prompt_tokens_size(), 3);
  EXPECT_EQ(response.usage().completion_tokens(), 0);
}

TEST(B20_ChoicesOverGrpc, a_f_EveryChoiceIsToldAndEndsOnce) {
  TestDaemon daemon;
  const auto stub = daemon.new_stub();
  v1::CompleteRequest request = make_request("x", 4);
  request.set_n(5);
  const StreamedAnswer answer = stream(*stub, request);
  int ends = 0;
  for (const v1::CompleteEvent& event : answer.events) ends += event.has_finished();
  EXPECT_EQ(ends, 5);
  for (int32_t choice = 0; choice < 5; ++choice) EXPECT_EQ(answer.text(choice), "abcd");
  v1::CompleteResponse response;
  ASSERT_TRUE(complete(*stub, request, response).ok());
  ASSERT_EQ(response.choices_size(), 5);
  for (int32_t choice = 0; choice < 5; ++choice) EXPECT_EQ(response.choices(choice).index(), choice);
  EXPECT_EQ(response.usage().completion_tokens(), 20);
  EXPECT_EQ(response.usage().prompt_tokens(), 1);
}

TEST(GrpcService, AnEngineFailureIsOneErrorEventAndStatusOk) {
  TestDaemon daemon;
  const auto stub = daemon.new_stub();
  daemon.executor().fail_next_step(internal_error("device lost"));
  const StreamedAnswer answer = stream(*stub, make_request("x", 5));
  EXPECT_TRUE(answer.status.ok());
  ASSERT_TRUE(answer.last().has_error());
  EXPECT_EQ(answer.last().error().code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(answer.last().error().message(), HasSubstr("device lost"));
  daemon.executor().fail_next_step(internal_error("device lost"));
  v1::CompleteResponse response;
  EXPECT_EQ(complete(*stub, make_request("x", 5), response).error_code(), grpc::StatusCode::INTERNAL);
}

TEST(GrpcService, TokenizeAndDetokenizeAreEachOthersInverse) {
  TestDaemon daemon;
  const auto stub = daemon.new_stub();
  v1::TokenizeRequest request;
  request.set_text("é<|user|>");
  v1::TokenizeResponse plain, special;
  grpc::ClientContext first, second, third, fourth, fifth;
  ASSERT_TRUE(stub->Tokenize(&first, request, &plain).ok());
  EXPECT_EQ(plain.ids_size(), 10);
  EXPECT_EQ(plain.pieces(0), "\xC3");
  request.set_parse_special(true);
  ASSERT_TRUE(stub->Tokenize(&second, request, &special).ok());
  EXPECT_THAT(special.ids(), ElementsAre(0xC3, 0xA9, kUser));
  v1::DetokenizeRequest back;
  *back.mutable_ids() = special.ids();
  v1::DetokenizeResponse text;
  ASSERT_TRUE(stub->Detokenize(&third, back, &text).ok());
  EXPECT_EQ(text.text(), "é");
  back.set_keep_special(true);
  ASSERT_TRUE(stub->Detokenize(&fourth, back, &text).ok());
  EXPECT_EQ(text.text(), "é<|user|>");
  back.add_ids(kByteVocabulary);
  const grpc::Status status = stub->Detokenize(&fifth, back, &text);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), StartsWith("ids[3] "));
}

TEST(GrpcService, DetokenizeReplacesWhatIsNoCharacter) {
  TestDaemon daemon;
  v1::DetokenizeRequest request;
  for (const int32_t id : std::vector<int32_t>{0xF0, 0x9F, kUser, 'a', 0xFF}) request.add_ids(id);
  request.set_keep_special(true);
  v1::DetokenizeResponse text;
  grpc::ClientContext context;
  ASSERT_TRUE(daemon.new_stub()->Detokenize(&context, request, &text).ok());
  EXPECT_EQ(text.text(), "\uFFFD<|user|>a\uFFFD");
}

TEST(GrpcService, TokenizeTakesATextOfOneMebibyteAndNoMore) {
  TestDaemon daemon;
  const auto stub = daemon.new_stub();
  v1::TokenizeRequest request;
  request.set_text(std::string((1 << 20) + 1, 'a'));
  v1::TokenizeResponse response;
  grpc::ClientContext first, second;
  const grpc::Status refused = stub->Tokenize(&first, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refused.error_message(), "text is 1048577 bytes, but one call takes 1048576");
  request.set_text(std::string(1 << 20, 'a'));
  EXPECT_TRUE(stub->Tokenize(&second, request, &response).ok());
  EXPECT_EQ(response.ids_size(), 1 << 20);
}

TEST(GrpcService, DetokenizeTakesAMebiOfTokensAndNoMore) {
  TestDaemon daemon;
  const auto stub = daemon.new_stub();
  v1::DetokenizeRequest request;
  request.mutable_ids()->Resize((1 << 20) + 1, 'a');
  v1::DetokenizeResponse response;
  grpc::ClientContext first, second;
  const grpc::Status refused = stub->Detokenize(&first, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refused.error_message(), "ids is 1048577 tokens, but one call takes 1048576");
  request.mutable_ids()->RemoveLast();
  EXPECT_TRUE(stub->Detokenize(&second, request, &response).ok());
  EXPECT_EQ(response.text().size(), 1U << 20);
}

TEST(GrpcService, TheModelAndTheLoadAreDescribed) {
  TestDaemon daemon;
  const auto stub = daemon.new_stub();
  v1::GetModelResponse model;
  grpc::ClientContext first, second;
  ASSERT_TRUE(stub->GetModel(&first, {}, &model).ok());
  EXPECT_EQ(model.name(), "bytes");
  EXPECT_EQ(model.vocab_size(), kByteVocabulary);
  EXPECT_EQ(model.context_length(), 512);
  EXPECT_FALSE(model.has_bos_id());
  EXPECT_THAT(model.end_ids(), ElementsAre(kEnd));
  v1::GetLoadResponse load;
  ASSERT_TRUE(stub->GetLoad(&second, {}, &load).ok());
  EXPECT_EQ(load.blocks_total(), 64);
  EXPECT_EQ(load.block_size(), 16);
  EXPECT_EQ(load.max_running(), 64);
  EXPECT_FALSE(load.draining());
}

TEST(GrpcServer, HealthFollowsWhatItIsTold) {
  TestDaemon daemon;
  const auto channel = daemon.new_channel();
  for (const char* service : {"", "sluice.v1.Inference"}) {
    EXPECT_EQ(health_status(channel, service), 1);
    daemon.server().set_serving(false);
    EXPECT_EQ(health_status(channel, service), 2);
    daemon.server().set_serving(true);
  }
  EXPECT_EQ(health_status(channel, "nobody"), -1);
}

TEST(GrpcServer, ReflectionListsTheService) {
  TestDaemon daemon;
  EXPECT_THAT(reflected_services(daemon.new_channel()), HasSubstr("sluice.v1.Inference"));
}

}  // namespace
}  // namespace sluice::server
