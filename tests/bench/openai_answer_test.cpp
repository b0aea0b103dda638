#include "bench/openai_answer.h"

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/answer_timer.h"
#include "bench/openai_request.h"

namespace sluice::bench {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;

/// Reads a scripted answer as a target would, in simulated time.
class Reading final : public AnswerSink {
 public:
  void on_piece(const Piece& piece) override {
    timer_.observe_tokens(piece.tokens);
    text_ += piece.text;
  }
  void on_usage(int32_t prompt_tokens, int32_t completion_tokens) override {
    timer_.observe_usage(prompt_tokens, completion_tokens);
  }
  void on_end(std::optional<Failure> failure) override {
    ++ends_;
    failure_ = std::move(failure);
  }

  Reading& head(int status = 200, std::string_view type = "text/event-stream; charset=utf-8") {
    answer_.on_head(status, type);
    return *this;
  }
  Reading& at(int ms, const std::string& bytes) {
    clock_.advance(start_ + milliseconds(ms) - clock_.now());
    answer_.on_body(bytes);
    return *this;
  }
  Reading& event(int ms, const json& chunk) { return at(ms, "data: " + chunk.dump() + "\n\n"); }
  Reading& done(int ms) { return at(ms, "data: [DONE]\n\n"); }
  Reading& body_end() {
    answer_.on_body_end();
    return *this;
  }

  AnswerTiming timing() const { return timer_.timing(); }
  std::string kind() const { return failure_ ? failure_->kind : ""; }
  std::string message() const { return failure_ ? failure_->status.message() : ""; }
  int ends() const { return ends_; }
  const std::string& text() const { return text_; }

 private:
  ManualClock clock_;
  TimePoint start_ = clock_.now();
  AnswerTimer timer_{clock_, start_};
  OpenAiAnswer answer_{*this};
  std::string text_;
  int ends_ = 0;
  std::optional<Failure> failure_;
};

json role() {
  return {
      {"choices", {{{"index", 0}, {"delta", {{"role", "assistant"}, {"content", ""}}}, {"finish_reason", nullptr}}}}};
}
json delta(const std::string& text) {
  return {{"choices", {{{"index", 0}, {"delta", {{"content", text}}}, {"finish_reason", nullptr}}}},
          {"usage", nullptr}};
}
json finish() {
  return {{"choices", {{{"index", 0}, {"delta", json::object()}, {"finish_reason", "stop"}}}}};
}
json usage(int tokens) {
  return {{"choices", json::array()}, {"usage", {{"prompt_tokens", 7}, {"completion_tokens", tokens}}}};
}
json text(const std::string& text) {
  return {{"choices", {{{"index", 0}, {"text", text}, {"finish_reason", nullptr}}}}};
}

TEST(B31_OpenAiAnswer, TheFirstTokenIsTheFirstText) {
  Reading reading;
  reading.head().event(10, role()).event(100, delta("A")).event(150, delta(" B")).event(200, delta(" C"));
  reading.event(201, finish()).event(201, usage(3)).done(201).body_end();
  const AnswerTiming timing = reading.timing();
  EXPECT_EQ(reading.kind(), "");
  EXPECT_EQ(timing.ttft, milliseconds(100));
  EXPECT_EQ(timing.tpot, milliseconds(50));
  EXPECT_EQ(timing.completion_tokens, 3);
  EXPECT_EQ(timing.prompt_tokens, 7);
  EXPECT_EQ(timing.end_to_end, milliseconds(201));
  EXPECT_EQ(reading.text(), "A B C");
}

TEST(B31_OpenAiAnswer, AChunkOfFourTokensIsFourByUsage) {
  Reading reading;
  reading.head().event(100, text("one two three four")).event(101, usage(4)).done(101);
  EXPECT_EQ(reading.timing().completion_tokens, 4);
  EXPECT_TRUE(reading.timing().has_usage);
  // All came at once: what a token took can't be told, and is not zero.
  EXPECT_EQ(reading.timing().tpot, std::nullopt);
}

TEST(B31_OpenAiAnswer, BlanksAreTokens) {
  Reading reading;
  reading.head();
  for (int i = 0; i < 15; ++i) reading.event(100 + i, text(" "));
  reading.event(115, usage(15)).done(115);
  EXPECT_EQ(reading.timing().completion_tokens, 15);
  EXPECT_EQ(reading.timing().ttft, milliseconds(100));
  EXPECT_EQ(reading.timing().tpot, milliseconds(1));
}

TEST(B31_OpenAiAnswer, WithoutUsagePiecesAreCountedAndItIsTold) {
  Reading reading;
  reading.head().event(100, delta("A")).event(150, delta("B")).event(160, finish()).done(161);
  EXPECT_EQ(reading.kind(), "");
  EXPECT_EQ(reading.timing().completion_tokens, 2);
  EXPECT_FALSE(reading.timing().has_usage);
}

TEST(OpenAiAnswer, ThoughtsAndToolCallsAreTokensToo) {
  Reading reading;
  reading.head();
  reading.event(10, {{"choices", {{{"delta", {{"content", nullptr}, {"reasoning_content", "Hm"}}}}}}});
  reading.event(20, {{"choices", {{{"delta", {{"tool_calls", {{{"index", 0}}}}}}}}}}).done(30);
  EXPECT_EQ(reading.timing().completion_tokens, 2);
  EXPECT_EQ(reading.kind(), "");
}

TEST(OpenAiAnswer, AStreamWithoutDoneIsAFailure) {
  Reading reading;
  reading.head().event(10, delta("A")).event(20, finish()).event(20, usage(1)).body_end();
  EXPECT_EQ(reading.kind(), "NO_DONE");
  EXPECT_EQ(reading.ends(), 1);
}

TEST(OpenAiAnswer, AnErrorInTheStreamIsAFailureWhateverFollows) {
  Reading reading;
  reading.head().event(10, delta("A")).event(20, {{"error", {{"message", "out of\nluck"}}}}).done(21).body_end();
  EXPECT_EQ(reading.kind(), "ERROR_EVENT");
  EXPECT_EQ(reading.message(), "out of luck");
  EXPECT_EQ(reading.ends(), 1);
}

TEST(OpenAiAnswer, AnEmptyStreamIsNoFastAnswer) {
  Reading reading;
  reading.head().done(1).body_end();
  EXPECT_EQ(reading.kind(), "EMPTY_ANSWER");
}

TEST(OpenAiAnswer, NoTokenAtAllMayBeAnAnswer) {
  Reading reading;
  reading.head().event(1, finish()).event(1, usage(0)).done(1);
  EXPECT_EQ(reading.kind(), "");
  EXPECT_EQ(reading.timing().ttft, std::nullopt);
}

TEST(OpenAiAnswer, GarbageIsAFailure) {
  for (const char* const garbage : {"<html>\n", "data: {\n\n", "data: 5\n\n", "data: \xff\xfe\n\n", "\x01\x02\n"}) {
    Reading reading;
    reading.head().event(10, delta("A")).at(20, garbage).done(21).body_end();
    EXPECT_EQ(reading.kind(), "BAD_STREAM") << garbage;
    EXPECT_EQ(reading.ends(), 1);
  }
}

TEST(OpenAiAnswer, MembersOfTheWrongTypeAreNoTokens) {
  Reading reading;
  reading.head()
      .event(1, {{"choices", 5}})
      .event(2, {{"choices", {5}}})
      .event(3, {{"choices", {{{"delta", 5}, {"text", 5}}}}});
  reading.event(4, {{"usage", {{"completion_tokens", "x"}}}}).event(5, {{"usage", 5}}).event(6, delta("A")).done(7);
  EXPECT_EQ(reading.timing().ttft, milliseconds(6));
  EXPECT_EQ(reading.kind(), "");
}

TEST(OpenAiAnswer, AnotherStatusIsAFailureOfItsOwnKind) {
  Reading reading;
  reading.head(429, "application/json").at(1, R"({"error":{"message":"the queue is full"}})").body_end();
  EXPECT_EQ(reading.kind(), "HTTP_429");
  EXPECT_EQ(reading.message(), "HTTP 429: the queue is full");
  Reading text;
  text.head(502, "text/html").at(1, "<h1>Bad</h1>").body_end();
  EXPECT_EQ(text.kind(), "HTTP_502");
  EXPECT_THAT(text.message(), HasSubstr("<h1>Bad</h1>"));
}

TEST(OpenAiAnswer, AWholeAnswerIsNoStream) {
  Reading reading;
  reading.head(200, "application/json").at(1, R"({"choices":[{"text":"all of it"}]})").body_end();
  EXPECT_EQ(reading.kind(), "NOT_A_STREAM");
}

TEST(OpenAiRequest, AsksForAStreamWithUsage) {
  Ask ask;
  ask.prompt = "Hi";
  ask.output_tokens = 5;
  const json body = json::parse(openai_request(ask, Endpoint::kCompletions, "m"));
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["prompt"], "Hi");
  EXPECT_EQ(body["max_tokens"], 5);
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["stream_options"]["include_usage"], true);
  EXPECT_EQ(body["ignore_eos"], true);
  EXPECT_FALSE(body.contains("stop_token_ids"));
}

TEST(OpenAiRequest, PromptsTakeTheFormOfTheEndpoint) {
  Ask ask;
  ask.ignores_end_tokens = false;
  ask.prompt = Ask::Tokens{1, 2};
  EXPECT_EQ(json::parse(openai_request(ask, Endpoint::kCompletions, "m"))["prompt"], json({1, 2}));
  ask.prompt = "Hi";
  json body = json::parse(openai_request(ask, Endpoint::kChat, "m"));
  EXPECT_EQ(body["messages"], json({{{"role", "user"}, {"content", "Hi"}}}));
  EXPECT_FALSE(body.contains("ignore_eos"));
  ask.prompt = Ask::Chat{{"user", "a"}, {"assistant", "b"}};
  body = json::parse(openai_request(ask, Endpoint::kChat, "m"));
  EXPECT_EQ(body["messages"][1]["role"], "assistant");
  ask.prompt = "\xff broken";
  EXPECT_TRUE(json::parse(openai_request(ask, Endpoint::kChat, "m")).is_object());
}

}  // namespace
}  // namespace sluice::bench
