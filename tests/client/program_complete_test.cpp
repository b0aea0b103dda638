#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/client/support/program.h"
#include "tests/client/support/scripted_server.h"

namespace sluice::test_support {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Program sluice(std::vector<std::string> arguments, const std::string& input = "",
               std::vector<std::string> environment = {}) {
  return Program(SLUICE_PROGRAM, std::move(arguments), input, std::move(environment));
}

Ended complete(const ScriptedServer& server, std::vector<std::string> arguments, const std::string& input = "") {
  arguments.insert(arguments.begin(), {"complete", "--address", server.address()});
  return sluice(std::move(arguments), input).wait();
}

/// Answers " A B" in two events and keeps the request.
Script two_tokens(v1::CompleteRequest& seen) {
  return {.stream_complete = [&seen](auto&, const v1::CompleteRequest& request, EventWriter& writer) {
    seen = request;
    writer.Write(prompt_info_event(5));
    writer.Write(tokens_event(" A", {11}));
    writer.Write(tokens_event(" B", {12}));
    writer.Write(finished_event(5, 2));
    return grpc::Status::OK;
  }};
}

Script refusal(grpc::StatusCode code, const std::string& message) {
  return {.stream_complete = [=](grpc::ServerContext& context, const auto&, auto&) {
    context.AddTrailingMetadata("retry-after-ms", "1500");
    return grpc::Status(code, message);
  }};
}

TEST(SluiceComplete, WrongUsageIsExitCode2) {
  v1::CompleteRequest seen;
  const ScriptedServer server(two_tokens(seen));
  const std::vector<std::vector<std::string>> wrong{{},
                                                    {"Hi", "there"},
                                                    {"--max-tokens", "x", "Hi"},
                                                    {"--max-tokens", "2147483648", "Hi"},
                                                    {"--seed", "9223372036854775808", "Hi"},
                                                    {"--no-such-option", "Hi"},
                                                    {"--logit-bias", "5", "Hi"},
                                                    {"--ids", "1 two"},
                                                    {"--ids", "--parse-special", "1"},
                                                    {"--timeout-ms", "0", "Hi"},
                                                    {"--stop", "\xff", "Hi"},
                                                    {"\xc3\x28"}};
  for (const std::vector<std::string>& arguments : wrong) {
    const Ended ended = complete(server, arguments);
    EXPECT_EQ(ended.exit_code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(ended.out, "") << testing::PrintToString(arguments);
    EXPECT_NE(ended.err, "") << testing::PrintToString(arguments);
  }
  EXPECT_EQ(sluice({}).wait().exit_code, 2);
  EXPECT_EQ(sluice({"no-such-command"}).wait().exit_code, 2);
}

TEST(SluiceComplete, SaysThatAnArgumentIsNotUtf8) {
  const Ended ended = sluice({"complete", "\xff\xfe"}).wait();
  EXPECT_THAT(ended.err, HasSubstr("the prompt is not valid UTF-8"));
}

TEST(SluiceComplete, SaysHowToStartTheDaemon) {
  const Ended ended = sluice({"complete", "--address", "unix:/nonexistent/socket", "Hi"}).wait();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("cannot connect to unix:/nonexistent/socket"));
  EXPECT_THAT(ended.err, HasSubstr("is sluiced running?"));
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1);
}

TEST(SluiceComplete, ShowsTheFieldOfAnInvalidArgument) {
  const ScriptedServer server(refusal(grpc::StatusCode::INVALID_ARGUMENT, "sampling.top_p must be in (0, 1]"));
  const Ended ended = complete(server, {"--top-p", "2", "Hi"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(ended.out, "") << "JSON only for who asks for it";
  EXPECT_THAT(ended.err, HasSubstr("INVALID_ARGUMENT: sampling.top_p must be in (0, 1]"));
}

TEST(SluiceComplete, ShowsRetryAfter) {
  const ScriptedServer server(refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full"));
  const Ended ended = complete(server, {"--json", "Hi"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(
      json::parse(ended.out),
      json::parse(R"({"error":{"code":"RESOURCE_EXHAUSTED","message":"the queue is full","retry_after_ms":1500}})"));
  EXPECT_THAT(ended.err, HasSubstr("the queue is full (try again in 1500 ms)"));
}

TEST(SluiceComplete, PrintsAJsonObjectForARequestThatReachedNoDaemon) {
  for (const std::vector<std::string>& wait : {std::vector<std::string>{}, {"--wait-ms", "1"}}) {
    std::vector<std::string> arguments{"complete", "--address", "unix:/nonexistent/socket", "--json", "Hi"};
    arguments.insert(arguments.end(), wait.begin(), wait.end());
    const Ended ended = sluice(arguments).wait();
    EXPECT_EQ(ended.exit_code, 1);
    const json refusal = json::parse(ended.out);
    EXPECT_EQ(refusal.size(), 1U);
    EXPECT_EQ(refusal["error"]["code"], wait.empty() ? "UNAVAILABLE" : "DEADLINE_EXCEEDED");
    EXPECT_FALSE(refusal["error"].contains("retry_after_ms"));
    EXPECT_NE(ended.err, "");
  }
}

TEST(SluiceComplete, AStdinThatCannotBeReadIsAFailureAndNotWrongUsage) {
  // A directory can be opened, but not read.
  const std::string script = "exec \"$0\" \"$@\" < /";
  for (const char* const command : {"complete", "tokenize", "detokenize"}) {
    const Ended ended = Program("/bin/sh", {"-c", script, SLUICE_PROGRAM, command, "-"}).wait();
    EXPECT_EQ(ended.exit_code, 1) << command;
    EXPECT_EQ(ended.out, "") << command;
    EXPECT_EQ(ended.err, "sluice: UNAVAILABLE: reading stdin failed\n") << command;
  }
}

TEST(SluiceComplete, KeepsTheTextBeforeAnError) {
  const ScriptedServer server({.stream_complete = [](auto&, const auto&, EventWriter& writer) {
    writer.Write(prompt_info_event(5));
    writer.Write(tokens_event("partial", {11}));
    writer.Write(error_event(grpc::StatusCode::DEADLINE_EXCEEDED, "the deadline passed"));
    return grpc::Status::OK;
  }});
  const Ended text = complete(server, {"Hi"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_EQ(text.out, "partial");
  EXPECT_THAT(text.err, HasSubstr("DEADLINE_EXCEEDED: the deadline passed"));
  const Ended as_json = complete(server, {"--json", "Hi"});
  EXPECT_EQ(as_json.exit_code, 1);
  const json answer = json::parse(as_json.out);
  EXPECT_EQ(answer["text"], "partial");
  EXPECT_EQ(answer["finish_reason"], nullptr);
  EXPECT_EQ(answer["error"]["code"], "DEADLINE_EXCEEDED");
}

TEST(SluiceComplete, InterruptCancelsOnTheServer) {
  Gate ended_on_server;
  const ScriptedServer server({.stream_complete = [&](auto&, const auto&, EventWriter& writer) {
    writer.Write(prompt_info_event(5));
    while (writer.Write(tokens_event("a", {11}))) {
    }
    ended_on_server.open();
    return grpc::Status::CANCELLED;
  }});
  Program program = sluice({"complete", "--address", server.address(), "Hi"});
  program.read_out(1);
  program.send_signal(SIGINT);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.exit_code, 130);
  EXPECT_TRUE(ended.out.starts_with("a"));
  EXPECT_THAT(ended.err, HasSubstr("CANCELLED"));
  ended_on_server.wait();
}

TEST(SluiceComplete, StreamsTextAsItComes) {
  Gate first_was_read;
  const ScriptedServer server({.stream_complete = [&](auto&, const auto&, EventWriter& writer) {
    writer.Write(prompt_info_event(5));
    writer.Write(tokens_event("first", {11}));
    first_was_read.wait();
    writer.Write(tokens_event(" second", {12}));
    writer.Write(finished_event(5, 2));
    return grpc::Status::OK;
  }});
  Program program = sluice({"complete", "--address", server.address(), "Hi"});
  EXPECT_EQ(program.read_out(5), "first");
  first_was_read.open();
  const Ended ended = program.wait();
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.out, "first second");
  EXPECT_THAT(ended.err,
              testing::ContainsRegex("2 tokens, length, TTFT [0-9.]+ ms, TPOT [0-9.]+ ms, [0-9.]+ tokens/s"));
}

TEST(SluiceComplete, SetsOnlyWhatWasGiven) {
  v1::CompleteRequest seen;
  const ScriptedServer server(two_tokens(seen));
  ASSERT_EQ(complete(server, {"Hi"}).exit_code, 0);
  v1::CompleteRequest expected;
  expected.set_text("Hi");
  expected.mutable_sampling();
  expected.mutable_stopping();
  EXPECT_EQ(seen.DebugString(), expected.DebugString());
}

TEST(SluiceComplete, SendsEveryOptionAndKeepsZeros) {
  v1::CompleteRequest seen;
  const ScriptedServer server(two_tokens(seen));
  const Ended ended = complete(server, {"--max-tokens",
                                        "0",
                                        "--temperature",
                                        "0",
                                        "--top-k",
                                        "-1",
                                        "--top-p",
                                        "0.5",
                                        "--min-p",
                                        "0",
                                        "--seed",
                                        "-1",
                                        "--repetition-penalty",
                                        "1.5",
                                        "--presence-penalty",
                                        "-2",
                                        "--frequency-penalty",
                                        "0.25",
                                        "--logit-bias",
                                        "7:-100",
                                        "--logit-bias",
                                        "8:1.5",
                                        "--stop",
                                        "END",
                                        "--stop",
                                        "\n",
                                        "--stop-token-id",
                                        "3",
                                        "--stop-token-id",
                                        "4",
                                        "--ignore-eos",
                                        "--n",
                                        "1",
                                        "--logprobs",
                                        "0",
                                        "--echo",
                                        "--model",
                                        "small",
                                        "--parse-special",
                                        "--",
                                        "--Hi"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(seen.text(), "--Hi");
  EXPECT_EQ(seen.model(), "small");
  EXPECT_TRUE(seen.parse_special());
  EXPECT_EQ(seen.n(), 1);
  EXPECT_TRUE(seen.stopping().has_max_tokens());
  EXPECT_EQ(seen.stopping().max_tokens(), 0);
  EXPECT_TRUE(seen.stopping().ignore_eos());
  EXPECT_THAT(seen.stopping().stop(), testing::ElementsAre("END", "\n"));
  EXPECT_THAT(seen.stopping().stop_token_ids(), testing::ElementsAre(3, 4));
  EXPECT_TRUE(seen.sampling().has_temperature());
  EXPECT_EQ(seen.sampling().temperature(), 0.0F);
  EXPECT_EQ(seen.sampling().top_k(), -1);
  EXPECT_EQ(seen.sampling().top_p(), 0.5F);
  EXPECT_TRUE(seen.sampling().has_min_p());
  EXPECT_EQ(seen.sampling().seed(), -1);
  EXPECT_EQ(seen.sampling().repetition_penalty(), 1.5F);
  EXPECT_EQ(seen.sampling().presence_penalty(), -2.0F);
  EXPECT_EQ(seen.sampling().frequency_penalty(), 0.25F);
  EXPECT_EQ(seen.sampling().logit_bias().at(7), -100.0F);
  EXPECT_EQ(seen.sampling().logit_bias().at(8), 1.5F);
  EXPECT_TRUE(seen.response().has_logprobs());
  EXPECT_TRUE(seen.response().echo());
}

TEST(SluiceComplete, ReadsThePromptFromStdinVerbatim) {
  v1::CompleteRequest seen;
  const ScriptedServer server(two_tokens(seen));
  ASSERT_EQ(complete(server, {"-"}, "two\nlines\n").exit_code, 0);
  EXPECT_EQ(seen.text(), "two\nlines\n");
}

TEST(SluiceComplete, SendsAnEmptyPromptAsOne) {
  v1::CompleteRequest seen;
  const ScriptedServer server(two_tokens(seen));
  ASSERT_EQ(complete(server, {""}).exit_code, 0);
  EXPECT_EQ(seen.prompt_case(), v1::CompleteRequest::kText);
  EXPECT_EQ(seen.text(), "");
}

TEST(SluiceComplete, SendsIds) {
  v1::CompleteRequest seen;
  const ScriptedServer server(two_tokens(seen));
  ASSERT_EQ(complete(server, {"--ids", "504,3575 282"}).exit_code, 0);
  EXPECT_THAT(seen.token_ids().ids(), testing::ElementsAre(504, 3575, 282));
  ASSERT_EQ(complete(server, {"--ids", "-1"}).exit_code, 0);
  EXPECT_THAT(seen.token_ids().ids(), testing::ElementsAre(-1));
}

TEST(SluiceComplete, TakesTheAddressFromTheEnvironment) {
  v1::CompleteRequest seen;
  const ScriptedServer server(two_tokens(seen));
  const Ended ended = sluice({"complete", "Hi"}, "", {"SLUICE_ADDRESS=" + server.address()}).wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, " A B");
}

TEST(SluiceComplete, PrintsOneJsonObject) {
  v1::CompleteRequest seen;
  const ScriptedServer server(two_tokens(seen));
  const Ended ended = complete(server, {"--json", "Hi"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  const json answer = json::parse(ended.out);
  EXPECT_EQ(answer["text"], " A B");
  EXPECT_EQ(answer["token_ids"], json({11, 12}));
  EXPECT_EQ(answer["logprobs"], nullptr);
  EXPECT_EQ(answer["finish_reason"], "length");
  EXPECT_EQ(answer["usage"], json({{"prompt_tokens", 5}, {"completion_tokens", 2}, {"cached_tokens", 0}}));
  EXPECT_EQ(answer["timing"]["server"]["queue_ms"], 1.5);
  EXPECT_GT(answer["timing"]["ttft_ms"], 0.0);
  EXPECT_GE(answer["timing"]["tpot_ms"], 0.0);
  EXPECT_GT(answer["timing"]["tokens_per_second"], 0.0);
  EXPECT_FALSE(answer.contains("choices"));
  EXPECT_FALSE(answer.contains("error"));
}

TEST(SluiceComplete, PrintsLogprobsAndTheEchoedPrompt) {
  const ScriptedServer server({.stream_complete = [](auto&, const auto&, EventWriter& writer) {
    writer.Write(prompt_info_event(2));
    v1::CompleteEvent prompt;
    for (const char* const bytes : {"Hi", " you"}) prompt.mutable_prompt_tokens()->add_tokens()->set_bytes(bytes);
    writer.Write(prompt);
    v1::CompleteEvent event = tokens_event("!", {11});
    v1::Token& token = *event.mutable_tokens()->mutable_tokens(0);
    token.set_logprob(-0.5F);
    token.set_bytes("!");
    v1::TokenAlternative& other = *token.add_top();
    other.set_id(12);
    other.set_logprob(-1.5F);
    other.set_bytes("\xe4");
    writer.Write(event);
    writer.Write(finished_event(2, 1, v1::FINISH_REASON_STOP));
    return grpc::Status::OK;
  }});
  const json answer = json::parse(complete(server, {"--json", "--echo", "--logprobs", "1", "Hi you"}).out);
  EXPECT_EQ(answer["logprobs"][0], json::parse(R"({"id":11,"logprob":-0.5,"bytes":[33],
      "top":[{"id":12,"logprob":-1.5,"bytes":[228]}]})"));
  EXPECT_EQ(answer["prompt_tokens"][0]["logprob"], nullptr);
  EXPECT_EQ(answer["prompt_tokens"].size(), 2U);
  EXPECT_EQ(answer["finish_reason"], "stop");
  EXPECT_EQ(complete(server, {"--echo", "Hi you"}).out, "Hi you!");
}

TEST(SluiceComplete, PrintsSeveralChoicesOneAfterAnother) {
  const ScriptedServer server({.stream_complete = [](auto&, const auto&, EventWriter& writer) {
    writer.Write(prompt_info_event(5));
    writer.Write(tokens_event("b", {12}, 1));
    writer.Write(tokens_event("a", {11}, 0));
    writer.Write(finished_event(5, 2));
    return grpc::Status::OK;
  }});
  EXPECT_EQ(complete(server, {"--n", "2", "Hi"}).out, "[0] a\n[1] b\n");
  const json answer = json::parse(complete(server, {"--n", "2", "--json", "Hi"}).out);
  EXPECT_EQ(answer["choices"][0]["text"], "a");
  EXPECT_EQ(answer["choices"][1]["index"], 1);
  EXPECT_EQ(answer["choices"][1]["token_ids"], json({12}));
}

}  // namespace
}  // namespace sluice::test_support
