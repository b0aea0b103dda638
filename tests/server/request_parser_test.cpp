#include "server/request_parser.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/byte_model.h"

namespace sluice::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class RequestParser : public ::testing::Test {
 protected:
  RequestParser() { request_.set_text("Hi"); }

  Result<ParsedRequest> parse() const { return parse_complete_request(request_, model_, origin_); }

  void expect_invalid(const std::string& field) const {
    const Result<ParsedRequest> parsed = parse();
    ASSERT_FALSE(parsed.ok()) << field;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(parsed.status().field(), field);
    EXPECT_THAT(parsed.status().message(), StartsWith(field + " "));
  }

  scheduler::Submission submission() const {
    Result<ParsedRequest> parsed = parse();
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed.ok() ? std::move(parsed->submission) : scheduler::Submission();
  }

  const std::unique_ptr<engine::Tokenizer> tokenizer_ = byte_tokenizer();
  ServedModel model_ = byte_model(*tokenizer_, 64, 1000);
  RequestOrigin origin_{.arrival = TimePoint{}, .deadline = TimePoint::max(), .fresh_seed = 99};
  v1::CompleteRequest request_;
};

using B09_Bos = RequestParser;
using B14_Sampling = RequestParser;
using B15_LogitBias = RequestParser;
using B16_Seed = RequestParser;
using B17_MaxTokens = RequestParser;
using B18_PromptTooLong = RequestParser;
using B19_EmptyPrompt = RequestParser;
using B20_Choices = RequestParser;
using B22_NeverFits = RequestParser;
using B26_Model = RequestParser;
using B02_StopOptions = RequestParser;

TEST_F(B14_Sampling, j_NegativeTemperatureIsRefusedAndZeroIsNot) {
  request_.mutable_sampling()->set_temperature(0);
  EXPECT_EQ(submission().sampling.temperature, 0);
  request_.mutable_sampling()->set_temperature(-1);
  expect_invalid("sampling.temperature");
}

TEST_F(B14_Sampling, NumbersThatAreNoneAreRefused) {
  request_.mutable_sampling()->set_temperature(std::numeric_limits<float>::quiet_NaN());
  expect_invalid("sampling.temperature");
  request_.mutable_sampling()->clear_temperature();
  request_.mutable_sampling()->set_top_p(std::numeric_limits<float>::quiet_NaN());
  expect_invalid("sampling.top_p");
}

TEST_F(B14_Sampling, k_TopKBelowMinusOneIsRefused) {
  for (const int32_t off : {-1, 0}) {
    request_.mutable_sampling()->set_top_k(off);
    EXPECT_EQ(submission().sampling.top_k, 0);
  }
  request_.mutable_sampling()->set_top_k(9'999'999);
  EXPECT_EQ(submission().sampling.top_k, 9'999'999);
  request_.mutable_sampling()->set_top_k(-2);
  expect_invalid("sampling.top_k");
}

TEST_F(B14_Sampling, l_TopPIsAboveZeroAndAtMostOne) {
  request_.mutable_sampling()->set_top_p(1);
  EXPECT_EQ(submission().sampling.top_p, 1);
  for (const float bad : {1.5F, 0.0F, -0.1F}) {
    request_.mutable_sampling()->set_top_p(bad);
    expect_invalid("sampling.top_p");
  }
}

TEST_F(B14_Sampling, m_MinPIsFromZeroToOne) {
  for (const float good : {0.0F, 1.0F}) {
    request_.mutable_sampling()->set_min_p(good);
    EXPECT_EQ(submission().sampling.min_p, good);
  }
  for (const float bad : {-0.1F, 1.1F}) {
    request_.mutable_sampling()->set_min_p(bad);
    expect_invalid("sampling.min_p");
  }
}

TEST_F(B14_Sampling, PenaltiesHaveTheirLimits) {
  request_.mutable_sampling()->set_repetition_penalty(0);
  expect_invalid("sampling.repetition_penalty");
  request_.mutable_sampling()->set_repetition_penalty(1.1F);
  request_.mutable_sampling()->set_presence_penalty(2);
  request_.mutable_sampling()->set_frequency_penalty(-2);
  EXPECT_EQ(submission().sampling.presence_penalty, 2);
  EXPECT_EQ(submission().sampling.frequency_penalty, -2);
  request_.mutable_sampling()->set_presence_penalty(2.5F);
  expect_invalid("sampling.presence_penalty");
  request_.mutable_sampling()->set_presence_penalty(0);
  request_.mutable_sampling()->set_frequency_penalty(-2.5F);
  expect_invalid("sampling.frequency_penalty");
}

TEST_F(RequestParser, WhatIsNotSetHasItsDefault) {
  const scheduler::Submission made = submission();
  EXPECT_EQ(made.sampling.temperature, 1);
  EXPECT_EQ(made.sampling.top_k, 0);
  EXPECT_EQ(made.sampling.top_p, 1);
  EXPECT_EQ(made.sampling.min_p, 0);
  EXPECT_EQ(made.sampling.repetition_penalty, 1);
  EXPECT_EQ(made.sampling.top_logprobs, -1);
  EXPECT_EQ(made.sequence_count, 1);
  EXPECT_EQ(made.seed, 99U);
  EXPECT_FALSE(made.score_prompt);
  EXPECT_THAT(made.prompt, ElementsAre('H', 'i'));
  EXPECT_THAT(made.stop_token_ids, ElementsAre(kEnd));
}

TEST_F(B15_LogitBias, a_b_TokensOutsideTheVocabularyAreRefused) {
  for (const int32_t bad : {-1, kByteVocabulary}) {
    request_.mutable_sampling()->clear_logit_bias();
    (*request_.mutable_sampling()->mutable_logit_bias())[bad] = 5;
    const Status status = parse().status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), StartsWith("sampling.logit_bias"));
  }
}

TEST_F(B15_LogitBias, f_ABiasBeyondAHundredIsRefused) {
  auto& bias = *request_.mutable_sampling()->mutable_logit_bias();
  for (const float good : {100.0F, -100.0F}) {
    bias[kByteVocabulary - 1] = good;
    EXPECT_EQ(submission().sampling.logit_bias.front().bias, good);
  }
  for (const float bad : {1e9F, -100.5F, std::numeric_limits<float>::quiet_NaN()}) {
    bias[kByteVocabulary - 1] = bad;
    EXPECT_THAT(parse().status().message(), StartsWith("sampling.logit_bias"));
  }
}

TEST_F(B15_LogitBias, BiasesComeInOrderOfTheirTokens) {
  auto& bias = *request_.mutable_sampling()->mutable_logit_bias();
  for (const int32_t token : {200, 3, 77, 0, 150}) bias[token] = 1;
  std::vector<int32_t> tokens;
  for (const engine::LogitBias& entry : submission().sampling.logit_bias) tokens.push_back(entry.token);
  EXPECT_THAT(tokens, ElementsAre(0, 3, 77, 150, 200));
}

TEST_F(B16_Seed, f_EverySeedIsTaken) {
  for (const int64_t seed : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    request_.mutable_sampling()->set_seed(seed);
    EXPECT_EQ(submission().seed, static_cast<uint64_t>(seed));
  }
}

TEST_F(B17_MaxTokens, a_ZeroMeansZero) {
  request_.mutable_stopping()->set_max_tokens(0);
  EXPECT_EQ(submission().max_new_tokens, 0);
}

TEST_F(B17_MaxTokens, b_EchoWithLogprobsScoresThePrompt) {
  request_.mutable_response()->set_echo(true);
  EXPECT_FALSE(submission().score_prompt);
  request_.mutable_response()->set_logprobs(1);
  EXPECT_TRUE(submission().score_prompt);
  EXPECT_EQ(submission().sampling.top_logprobs, 1);
}

TEST_F(B17_MaxTokens, c_NegativeIsRefused) {
  request_.mutable_stopping()->set_max_tokens(-5);
  expect_invalid("stopping.max_tokens");
}

TEST_F(B17_MaxTokens, e_f_AbsentOrHugeEndsAtTheContext) {
  EXPECT_EQ(submission().max_new_tokens, 62);
  request_.mutable_stopping()->set_max_tokens(std::numeric_limits<int32_t>::max());
  EXPECT_EQ(submission().max_new_tokens, 62);
}

TEST_F(B18_PromptTooLong, a_b_OneTokenTooManyIsRefusedWithBothNumbers) {
  request_.set_text(std::string(65, 'a'));
  expect_invalid("prompt");
  EXPECT_THAT(parse().status().message(), HasSubstr("65"));
  EXPECT_THAT(parse().status().message(), HasSubstr("64"));
  request_.set_text(std::string(8000, 'a'));
  EXPECT_THAT(parse().status().message(), HasSubstr("8000"));
}

TEST_F(B18_PromptTooLong, APromptAsLongAsTheContextLeavesRoomForNothing) {
  request_.set_text(std::string(64, 'a'));
  EXPECT_EQ(submission().max_new_tokens, 0);
  request_.mutable_stopping()->set_max_tokens(10);
  EXPECT_EQ(submission().max_new_tokens, 0);
}

TEST_F(B18_PromptTooLong, d_TheAnswerIsCutToTheContext) {
  request_.set_text(std::string(40, 'a'));
  request_.mutable_stopping()->set_max_tokens(100);
  EXPECT_EQ(submission().max_new_tokens, 24);
}

TEST_F(B19_EmptyPrompt, a_AnEmptyTextIsRefused) {
  request_.set_text("");
  expect_invalid("prompt.text");
}

TEST_F(B19_EmptyPrompt, b_NoIdsAreRefused) {
  request_.mutable_token_ids();
  expect_invalid("prompt.token_ids.ids");
}

TEST_F(B19_EmptyPrompt, e_NoPromptIsRefused) {
  request_.clear_prompt();
  expect_invalid("prompt");
}

TEST_F(B19_EmptyPrompt, g_h_AnIdOutsideTheVocabularyIsNamedByItsPlace) {
  for (const int32_t bad : {-1, kByteVocabulary}) {
    request_.mutable_token_ids()->clear_ids();
    for (const int32_t id : {1, 2, 3, bad}) request_.mutable_token_ids()->add_ids(id);
    expect_invalid("prompt.token_ids.ids[3]");
  }
  request_.mutable_token_ids()->set_ids(3, kByteVocabulary - 1);
  EXPECT_THAT(submission().prompt, ElementsAre(1, 2, 3, kByteVocabulary - 1));
}

TEST_F(B20_Choices, c_d_e_FromOneToSixtyFour) {
  for (const int32_t good : {1, 64}) {
    request_.set_n(good);
    EXPECT_EQ(submission().sequence_count, good);
  }
  for (const int32_t bad : {0, -1, 65, 100'000}) {
    request_.set_n(bad);
    expect_invalid("n");
  }
}

TEST_F(B22_NeverFits, ADefaultIsCutToThePoolAndAnExplicitNumberIsNot) {
  model_.pool_tokens = 32;
  EXPECT_EQ(submission().max_new_tokens, 30);
  request_.mutable_stopping()->set_max_tokens(50);
  EXPECT_EQ(submission().max_new_tokens, 50);
}

TEST_F(B22_NeverFits, APromptThatFillsThePoolStillAsksForATokenSoThatItIsRefused) {
  model_.pool_tokens = 32;
  request_.set_text(std::string(32, 'a'));
  EXPECT_EQ(submission().max_new_tokens, 1);
  request_.set_text(std::string(31, 'a'));
  EXPECT_EQ(submission().max_new_tokens, 1);
  request_.set_text(std::string(30, 'a'));
  EXPECT_EQ(submission().max_new_tokens, 2);
}

TEST_F(B26_Model, c_AnotherNameIsNotFound) {
  for (const char* good : {"", "bytes"}) {
    request_.set_model(good);
    EXPECT_TRUE(parse().ok());
  }
  request_.set_model("gpt-5");
  EXPECT_EQ(parse().status().code(), StatusCode::kNotFound);
  EXPECT_THAT(parse().status().message(), HasSubstr("gpt-5"));
}

TEST_F(B26_Model, AHugeNameIsNotRepeatedWhole) {
  std::string name;
  for (int i = 0; i < 100'000; ++i) name += "é";
  request_.set_model(name);
  EXPECT_LT(parse().status().message().size(), 400U);
}

TEST_F(B02_StopOptions, c_AnEmptyOneIsRefused) {
  request_.mutable_stopping()->add_stop("x");
  request_.mutable_stopping()->add_stop("");
  expect_invalid("stopping.stop[1]");
}

TEST_F(B02_StopOptions, f_SixteenAreTakenAndSeventeenAreNot) {
  for (int i = 0; i < 16; ++i) request_.mutable_stopping()->add_stop("x");
  EXPECT_TRUE(parse().ok());
  EXPECT_EQ(parse()->terms.stops.size(), 16U);
  request_.mutable_stopping()->add_stop("x");
  expect_invalid("stopping.stop");
}

TEST_F(B02_StopOptions, AStringOf1024BytesIsTakenAndALongerOneIsNot) {
  request_.mutable_stopping()->add_stop(std::string(1024, 'x'));
  EXPECT_TRUE(parse().ok());
  request_.mutable_stopping()->add_stop(std::string(1025, 'x'));
  expect_invalid("stopping.stop[1]");
}

TEST_F(RequestParser, ATextTooLongWhateverItsTokensAreIsRefusedByItsBytes) {
  model_.longest_token_bytes = 4;
  request_.set_text(std::string(1 << 20, 'x'));
  EXPECT_THAT(parse().status().message(), HasSubstr("1048576 tokens")) << "tokenised, so its tokens are known";
  request_.set_text(std::string((1 << 20) + 1, 'x'));
  EXPECT_THAT(parse().status().message(), HasSubstr("at least 262145 tokens"));
}

TEST_F(RequestParser, StopTokensJoinTheEndTokensOnceAndInOrder) {
  for (const int32_t id : {200, 10, kEnd, 10}) request_.mutable_stopping()->add_stop_token_ids(id);
  EXPECT_THAT(submission().stop_token_ids, ElementsAre(10, 200, kEnd));
  EXPECT_THAT(parse()->terms.stop_token_ids, ElementsAre(10, 200, kEnd));
  request_.mutable_stopping()->clear_stop_token_ids();
  request_.mutable_stopping()->set_ignore_eos(true);
  EXPECT_THAT(submission().stop_token_ids, IsEmpty());
}

TEST_F(RequestParser, SixtyFourStopTokensAreTakenAndSixtyFiveAreNot) {
  for (int32_t i = 0; i < 64; ++i) request_.mutable_stopping()->add_stop_token_ids(i);
  EXPECT_EQ(submission().stop_token_ids.size(), 65U);
  request_.mutable_stopping()->add_stop_token_ids(64);
  expect_invalid("stopping.stop_token_ids");
}

TEST_F(RequestParser, AStopTokenOutsideTheVocabularyIsNamedByItsPlace) {
  request_.mutable_stopping()->add_stop_token_ids(0);
  request_.mutable_stopping()->add_stop_token_ids(kByteVocabulary);
  expect_invalid("stopping.stop_token_ids[1]");
}

TEST_F(RequestParser, LogprobsAreFromZeroToTwenty) {
  for (const int32_t good : {0, 20}) {
    request_.mutable_response()->set_logprobs(good);
    EXPECT_EQ(submission().sampling.top_logprobs, good);
    EXPECT_TRUE(parse()->terms.reports_logprobs);
  }
  for (const int32_t bad : {-1, 21}) {
    request_.mutable_response()->set_logprobs(bad);
    expect_invalid("response.logprobs");
  }
}

TEST_F(RequestParser, NamesOfSpecialTokensAreTextUnlessAskedFor) {
  request_.set_text("<|user|>");
  EXPECT_THAT(submission().prompt, ElementsAre('<', '|', 'u', 's', 'e', 'r', '|', '>'));
  request_.set_parse_special(true);
  EXPECT_THAT(submission().prompt, ElementsAre(kUser));
}

TEST_F(RequestParser, TheEchoedPromptIsThePrompt) {
  EXPECT_THAT(parse()->terms.echoed_prompt, IsEmpty());
  request_.mutable_response()->set_echo(true);
  EXPECT_THAT(parse()->terms.echoed_prompt, ElementsAre('H', 'i'));
}

/// The byte tokenizer for a model whose prompts begin with bos.
class BosTokenizer final : public engine::Tokenizer {
 public:
  explicit BosTokenizer(const engine::Tokenizer& inner) : inner_(inner) {}
  Result<std::vector<int32_t>> encode(std::string_view text, engine::SpecialTokens special) const override {
    return inner_.encode(text, special);
  }
  Result<std::vector<int32_t>> encode(std::span<const engine::TextRun> runs) const override {
    return inner_.encode(runs);
  }
  std::string_view token_bytes(int32_t id) const override { return inner_.token_bytes(id); }
  bool is_special(int32_t id) const override { return inner_.is_special(id); }
  int32_t vocab_size() const override { return inner_.vocab_size(); }
  std::optional<int32_t> bos_id() const override { return kUser; }
  bool adds_bos() const override { return true; }
  std::span<const int32_t> end_ids() const override { return inner_.end_ids(); }

 private:
  const engine::Tokenizer& inner_;
};

TEST_F(B09_Bos, ItComesOnceBeforeTextAndNeverBeforeIds) {
  const BosTokenizer with_bos(*tokenizer_);
  model_.tokenizer = &with_bos;
  EXPECT_THAT(submission().prompt, ElementsAre(kUser, 'H', 'i'));
  request_.set_text("<|user|>x");
  request_.set_parse_special(true);
  EXPECT_THAT(submission().prompt, ElementsAre(kUser, 'x'));
  request_.mutable_token_ids()->add_ids('y');
  EXPECT_THAT(submission().prompt, ElementsAre('y'));
}

TEST_F(RequestParser, PriorityAndSaltHaveBounds) {
  origin_.tenant = "someone";
  request_.set_priority(-100);
  request_.set_cache_salt(std::string(128, 's'));
  EXPECT_EQ(submission().priority, -100);
  EXPECT_EQ(submission().tenant, "someone");
  request_.set_priority(101);
  expect_invalid("priority");
  request_.set_priority(-101);
  expect_invalid("priority");
  request_.set_priority(100);
  request_.set_cache_salt(std::string(129, 's'));
  expect_invalid("cache_salt");
}

}  // namespace
}  // namespace sluice::server
