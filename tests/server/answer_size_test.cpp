#include "server/answer_size.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/completion_collector.h"
#include "server/grpc_codec.h"
#include "tests/server/byte_model.h"
#include "tests/server/test_daemon.h"

namespace sluice::server {
namespace {

using ::testing::HasSubstr;

class AnswerSizeTest : public ::testing::Test {
 protected:
  ParsedRequest parse(const v1::CompleteRequest& request) const {
    Result<ParsedRequest> parsed = parse_complete_request(request, model_, {.arrival = TimePoint{}});
    SLUICE_CHECK(parsed.ok());
    return std::move(parsed).value();
  }

  /// A token as costly as there is one.
  TokenReport longest_token(int32_t alternatives) const {
    int32_t longest = 0;
    for (int32_t id = 0; id < tokenizer_->vocab_size(); ++id) {
      if (tokenizer_->token_bytes(id).size() > tokenizer_->token_bytes(longest).size()) longest = id;
    }
    TokenReport token{.id = longest, .logprob = std::nullopt, .top = {}};
    if (alternatives >= 0) token.logprob = -1.0F;
    for (int32_t i = 0; i < alternatives; ++i) token.top.push_back({longest, -1.0F});
    return token;
  }

  /// The largest answer that a request with `stop` as its stop string could get.
  int64_t wire_bytes(const ParsedRequest& request, const std::string& stop) const {
    const TokenReport token = longest_token(request.submission.sampling.top_logprobs);
    const auto tokens = static_cast<size_t>(request.submission.max_new_tokens);
    Completion completion;
    completion.opened = {.id = {UINT64_MAX}, .prompt_tokens = request.terms.prompt_tokens};
    completion.prompt_tokens.assign(request.terms.echoed_prompt.size(), token);
    for (int32_t i = 0; i < request.terms.choice_count; ++i) {
      CollectedChoice choice;
      choice.text.assign(3 * tokens * static_cast<size_t>(model_.longest_token_bytes), 'x');
      choice.tokens.assign(tokens, token);
      choice.end.choice = i;
      choice.end.stop = stop;
      completion.choices.push_back(choice);
    }
    return static_cast<int64_t>(to_wire(completion, {model_, TimePoint{}}).ByteSizeLong());
  }

  const std::unique_ptr<engine::Tokenizer> tokenizer_ = byte_tokenizer();
  const ServedModel model_ = byte_model(*tokenizer_, 4000, 100'000);
};

TEST_F(AnswerSizeTest, NoAnswerIsLargerAndTheLargestIsNotMuchSmaller) {
  const std::string stop(1024, 's');
  for (const int32_t logprobs : {-1, 0, 20}) {
    for (const bool echo : {false, true}) {
      v1::CompleteRequest request = make_request(std::string(300, 'p'), 500);
      request.set_n(3);
      request.mutable_stopping()->add_stop(stop);
      if (logprobs >= 0) request.mutable_response()->set_logprobs(logprobs);
      request.mutable_response()->set_echo(echo);
      const ParsedRequest parsed = parse(request);
      const int64_t most = largest_answer(parsed, model_).total();
      EXPECT_LE(wire_bytes(parsed, stop), most) << logprobs << echo;
      EXPECT_GE(wire_bytes(parsed, stop), most - most / 50) << logprobs << echo;
    }
  }
}

TEST_F(AnswerSizeTest, OneByteTooMuchIsRefusedByTheFieldThatAsksForIt) {
  v1::CompleteRequest request = make_request("Hi", 100);
  request.set_n(2);
  request.mutable_response()->set_logprobs(5);
  const ParsedRequest parsed = parse(request);
  const int64_t most = largest_answer(parsed, model_).total();
  EXPECT_TRUE(check_answer_fits(parsed, model_, most).ok());
  const Status refused = check_answer_fits(parsed, model_, most - 1);
  EXPECT_EQ(refused.field(), "stopping.max_tokens");
  EXPECT_THAT(refused.message(), HasSubstr("100 for each of 2 choices"));
  EXPECT_THAT(refused.message(), HasSubstr(std::to_string(most)));
  EXPECT_THAT(refused.message(), HasSubstr("StreamComplete"));
}

TEST_F(AnswerSizeTest, AnEchoThatAloneIsTooLargeIsNamed) {
  v1::CompleteRequest request = make_request(std::string(1000, 'p'), 1);
  request.mutable_response()->set_echo(true);
  const ParsedRequest parsed = parse(request);
  const AnswerSize size = largest_answer(parsed, model_);
  EXPECT_EQ(check_answer_fits(parsed, model_, size.prompt + size.rest).field(), "stopping.max_tokens");
  EXPECT_EQ(check_answer_fits(parsed, model_, size.prompt + size.rest - 1).field(), "response.echo");
}

TEST_F(AnswerSizeTest, OnlyAUnaryAnswerIsHeldToAMessage) {
  TestDaemonOptions options{.config = {}, .block_count = 500, .context_length = 4'000};
  options.config.server.max_message_mib = 1;
  TestDaemon daemon(options);
  const auto stub = daemon.new_stub();
  v1::CompleteRequest request = make_request("x", 0);
  request.mutable_response()->set_logprobs(20);
  int32_t fits = 0;
  while (largest_answer(parse(request), model_).total() <= 1 << 20) request.mutable_stopping()->set_max_tokens(++fits);
  v1::CompleteResponse response;
  grpc::ClientContext first, second;
  const grpc::Status refused = stub->Complete(&first, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), ::testing::StartsWith("stopping.max_tokens "));
  EXPECT_EQ(stream(*stub, request).last().finished().usage().completion_tokens(), fits);
  request.mutable_stopping()->set_max_tokens(fits - 1);
  EXPECT_TRUE(stub->Complete(&second, request, &response).ok());
  EXPECT_EQ(response.usage().completion_tokens(), fits - 1);
}

}  // namespace
}  // namespace sluice::server
