#include "server/completion_ask.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json json(const std::string& text) {
  Result<Json> value = parse_json(text);
  SLUICE_CHECK(value.ok());
  return std::move(value).value();
}

/// The field of the error; "" when there is none.
std::string fault_of(const std::string& members) {
  return parse_completion_ask(json("{" + members + "}")).status().field();
}
std::string chat_fault_of(const std::string& members) {
  const std::string head =
      members.find("\"messages\"") == std::string::npos ? R"({"messages":[{"role":"user","content":"Hi"}],)" : "{";
  return parse_chat_ask(json(head + members + "}")).status().field();
}
std::string message_fault_of(const std::string& message) {
  return chat_fault_of(R"("messages":[{"role":"user","content":"a"},)" + message + "]");
}

CompletionAsk completion(const std::string& members) {
  Result<CompletionAsk> ask = parse_completion_ask(json("{" + members + "}"));
  SLUICE_CHECK(ask.ok());
  return std::move(ask).value();
}
ChatAsk chat(const std::string& members) {
  Result<ChatAsk> ask = parse_chat_ask(json(R"({"messages":[{"role":"user","content":"Hi"}],)" + members + "}"));
  SLUICE_CHECK(ask.ok());
  return std::move(ask).value();
}
Json messages_of(const std::string& messages) {
  Result<ChatAsk> ask = parse_chat_ask(json(R"({"messages":)" + messages + "}"));
  SLUICE_CHECK(ask.ok());
  return ask->prompt.messages;
}

TEST(CompletionAsk, ABodyThatIsNoObjectIsRefused) {
  for (const char* const body : {"[1]", "7", "null", "\"Hi\""}) {
    EXPECT_THAT(parse_completion_ask(json(body)).status().message(), HasSubstr("must be a JSON object"));
    EXPECT_THAT(parse_chat_ask(json(body)).status().message(), HasSubstr("must be a JSON object"));
  }
}

TEST(CompletionAsk, WrongTypesNameTheField) {
  for (const char* const name : {"temperature", "top_p", "min_p", "top_k", "repetition_penalty", "presence_penalty",
                                 "frequency_penalty", "seed", "n", "max_tokens", "logprobs", "priority", "best_of",
                                 "echo", "stream", "ignore_eos", "stream_options", "logit_bias", "stop_token_ids"}) {
    EXPECT_EQ(fault_of('"' + std::string(name) + R"(":"x")"), name);
  }
  for (const char* const name : {"model", "user", "cache_salt", "stop", "prompt"})
    EXPECT_EQ(fault_of('"' + std::string(name) + R"(":{"a":1})"), name);
}

TEST(CompletionAsk, NullIsAsGoodAsAbsent) {
  const CompletionAsk ask = completion(
      R"("prompt":"Hi","temperature":null,"n":null,"stop":null,"logit_bias":null,"stream":null,"stream_options":null,)"
      R"("max_tokens":null,"logprobs":null,"echo":null,"suffix":null,"best_of":null,"response_format":null,"user":null)");
  v1::CompleteRequest plain;
  plain.set_text("Hi");
  plain.mutable_sampling();
  plain.mutable_stopping();
  EXPECT_EQ(ask.request.SerializeAsString(), plain.SerializeAsString());
  EXPECT_THAT(ask.wish.ignored, IsEmpty());
}

TEST(CompletionAsk, EveryOptionReachesTheCore) {
  const v1::CompleteRequest request =
      completion(
          R"("model":"m","prompt":"Hi","temperature":0.5,"top_p":0.25,"top_k":3,"min_p":0.125,"seed":-7,)"
          R"("repetition_penalty":1.5,"presence_penalty":-1,"frequency_penalty":2,"logit_bias":{"5":-100,"0":1.5},)"
          R"("stop":["a","b"],"stop_token_ids":[7,8],"ignore_eos":true,"max_tokens":9,"n":2,"best_of":2,)"
          R"("priority":-3,"cache_salt":"s","logprobs":4,"echo":true)")
          .request;
  EXPECT_EQ(request.model(), "m");
  EXPECT_EQ(request.text(), "Hi");
  const v1::SamplingOptions& sampling = request.sampling();
  EXPECT_EQ(sampling.temperature(), 0.5F);
  EXPECT_EQ(sampling.top_p(), 0.25F);
  EXPECT_EQ(sampling.top_k(), 3);
  EXPECT_EQ(sampling.min_p(), 0.125F);
  EXPECT_EQ(sampling.seed(), -7);
  EXPECT_EQ(sampling.repetition_penalty(), 1.5F);
  EXPECT_EQ(sampling.presence_penalty(), -1);
  EXPECT_EQ(sampling.frequency_penalty(), 2);
  EXPECT_EQ(sampling.logit_bias().at(5), -100);
  EXPECT_EQ(sampling.logit_bias().at(0), 1.5F);
  EXPECT_THAT(request.stopping().stop(), ElementsAre("a", "b"));
  EXPECT_THAT(request.stopping().stop_token_ids(), ElementsAre(7, 8));
  EXPECT_TRUE(request.stopping().ignore_eos());
  EXPECT_EQ(request.stopping().max_tokens(), 9);
  EXPECT_EQ(request.n(), 2);
  EXPECT_EQ(request.priority(), -3);
  EXPECT_EQ(request.cache_salt(), "s");
  EXPECT_EQ(request.response().logprobs(), 4);
  EXPECT_TRUE(request.response().echo());
}

TEST(CompletionAsk, APromptIsTextOrIdsOrAListWithOneOfThese) {
  EXPECT_EQ(completion(R"("prompt":"Hi")").request.text(), "Hi");
  EXPECT_EQ(completion(R"("prompt":["Hi"])").request.text(), "Hi");
  EXPECT_EQ(completion(R"("prompt":"")").request.prompt_case(), v1::CompleteRequest::kText);
  EXPECT_THAT(completion(R"("prompt":[1,2.0])").request.token_ids().ids(), ElementsAre(1, 2));
  EXPECT_THAT(completion(R"("prompt":[[1,2]])").request.token_ids().ids(), ElementsAre(1, 2));
  for (const char* const empty : {R"("prompt":[])", R"("prompt":[[]])"})
    EXPECT_EQ(completion(empty).request.prompt_case(), v1::CompleteRequest::kTokenIds);
  EXPECT_EQ(completion("").request.prompt_case(), v1::CompleteRequest::PROMPT_NOT_SET) << "for the core to refuse";
  for (const char* const bad : {R"("prompt":7)", R"("prompt":{})", R"("prompt":["a","b"])", R"("prompt":[[1],[2]])",
                                R"("prompt":[true])", R"("prompt":[null])", R"("prompt":[[["a"]]])"})
    EXPECT_THAT(fault_of(bad), HasSubstr("prompt")) << bad;
  EXPECT_EQ(fault_of(R"("prompt":[1,"a"])"), "prompt[1]");
  EXPECT_EQ(fault_of(R"("prompt":[1,1.5])"), "prompt[1]");
  EXPECT_EQ(fault_of(R"("prompt":[4294967296])"), "prompt[0]");
}

TEST(CompletionAsk, WholeNumbersMayBeWrittenInOtherWays) {
  EXPECT_EQ(completion(R"("n":2.0)").request.n(), 2);
  EXPECT_EQ(completion(R"("max_tokens":1e2)").request.stopping().max_tokens(), 100);
  for (const char* const value : {"1.5", "2147483648", "-2147483649", "1e300", "9223372036854775808", "true"})
    EXPECT_EQ(fault_of(R"("max_tokens":)" + std::string(value)), "max_tokens") << value;
  EXPECT_EQ(completion(R"("seed":9223372036854775807)").request.sampling().seed(), INT64_MAX);
  EXPECT_EQ(fault_of(R"("seed":9223372036854775808)"), "seed");
}

TEST(B02_StopStringInJson, e_may_be_a_bare_string) {
  EXPECT_THAT(completion(R"("stop":"no n")").request.stopping().stop(), ElementsAre("no n"));
}

TEST(B02_StopStringInJson, g_must_be_text) {
  EXPECT_EQ(fault_of(R"("stop":[7])"), "stop[0]");
  EXPECT_EQ(fault_of(R"("stop":7)"), "stop");
}

TEST(B15_LogitBiasInJson, c_d_e_names_must_be_token_ids_and_values_numbers) {
  for (const char* const bias :
       {R"({"abc":1})", R"({"18446744073709551616":1})", R"({"1.0":1})", R"({" 1":1})", R"({"":1})"})
    EXPECT_EQ(fault_of(R"("logit_bias":)" + std::string(bias)), "logit_bias") << bias;
  EXPECT_EQ(fault_of(R"("logit_bias":{"787":"x"})"), "logit_bias.787");
}

TEST(CompletionAsk, WhatWouldChangeTheAnswerAndIsNotServedIsRefusedByName) {
  for (const char* const member :
       {R"("suffix":"x")", R"("guided_json":{"a":1})", R"("grammar":"x")", R"("regex":"x")"}) {
    const std::string name = std::string(member).substr(1, std::string(member).find(':') - 2);
    EXPECT_EQ(fault_of(member), name);
    EXPECT_EQ(fault_of('"' + name + R"(":"")"), "");
  }
  EXPECT_EQ(fault_of(R"("best_of":2)"), "best_of");
  EXPECT_EQ(fault_of(R"("response_format":{"type":"json_object"})"), "response_format.type");
  EXPECT_EQ(fault_of(R"("response_format":{})"), "response_format.type");
  EXPECT_EQ(fault_of(R"("response_format":{"type":"text"})"), "");
}

TEST(CompletionAsk, UnknownMembersAreTold) {
  EXPECT_THAT(
      completion(R"("prompt":"a","store":true,"x":1,"stream":true,"stream_options":{"include_usage":true,"y":1})")
          .wish.ignored,
      ElementsAre("stream_options.y", "store", "x"));
}

TEST(CompletionAsk, UsageIsToldOnlyInAStream) {
  EXPECT_TRUE(completion(R"("stream":true,"stream_options":{"include_usage":true})").wish.include_usage);
  EXPECT_FALSE(completion(R"("stream_options":{"include_usage":true})").wish.include_usage);
  EXPECT_FALSE(completion(R"("stream":true,"stream_options":{})").wish.include_usage);
  EXPECT_EQ(fault_of(R"("stream_options":{"include_usage":1})"), "stream_options.include_usage");
}

TEST(CompletionAsk, ErrorsOfTheCoreNameTheBodysField) {
  const auto told = [](const std::string& field, AskKind kind) {
    const Status status = in_json_terms(invalid_field(field, "must be better"), kind);
    EXPECT_EQ(status.message(), status.field() + " must be better");
    return status.field();
  };
  for (const AskKind kind : {AskKind::kCompletion, AskKind::kChat}) {
    EXPECT_EQ(told("sampling.top_p", kind), "top_p");
    EXPECT_EQ(told("stopping.stop[1]", kind), "stop[1]");
    EXPECT_EQ(told("n", kind), "n");
    EXPECT_EQ(told("x-tenant", kind), "x-tenant");
  }
  EXPECT_EQ(told("prompt.token_ids.ids[3]", AskKind::kCompletion), "prompt[3]");
  EXPECT_EQ(told("prompt.text", AskKind::kCompletion), "prompt");
  EXPECT_EQ(told("prompt", AskKind::kCompletion), "prompt");
  EXPECT_EQ(told("response.logprobs", AskKind::kCompletion), "logprobs");
  EXPECT_EQ(told("stopping.max_tokens", AskKind::kCompletion), "max_tokens");
  EXPECT_EQ(told("prompt.token_ids.ids", AskKind::kChat), "messages");
  EXPECT_EQ(told("prompt", AskKind::kChat), "messages");
  EXPECT_EQ(told("response.logprobs", AskKind::kChat), "top_logprobs");
  EXPECT_EQ(told("stopping.max_tokens", AskKind::kChat), "max_completion_tokens");
  const Status full = in_json_terms(resource_exhausted("full").with_retry_after_ms(7), AskKind::kChat);
  EXPECT_EQ(full, resource_exhausted("full").with_retry_after_ms(7));
}

TEST(ChatAsk, MessagesMustBeThere) {
  EXPECT_EQ(chat_fault_of(R"("messages":[])"), "messages");
  EXPECT_EQ(chat_fault_of(R"("messages":null)"), "messages");
  EXPECT_EQ(chat_fault_of(R"("messages":"Hi")"), "messages");
  EXPECT_EQ(chat_fault_of(R"("messages":["Hi"])"), "messages[0]");
}

TEST(B11_ChatMessages, a_a_tool_call_needs_no_content) {
  const std::string call = R"({"id":"1","type":"function","function":{"name":"f","arguments":"null"}})";
  const Json messages =
      messages_of(R"([{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[)" + call +
                  R"(]},{"role":"tool","tool_call_id":"1","content":"42"}])");
  EXPECT_EQ(write_json(messages[1]), R"({"role":"assistant","tool_calls":[)" + call + R"(],"content":null})");
  EXPECT_EQ(write_json(messages[2]), R"({"role":"tool","content":"42","tool_call_id":"1"})");
  EXPECT_EQ(message_fault_of(R"({"role":"assistant","tool_calls":[{}]})"), "messages[1].tool_calls[0].function");
  EXPECT_EQ(message_fault_of(R"({"role":"assistant","tool_calls":[{"function":{}}]})"),
            "messages[1].tool_calls[0].function.name");
  EXPECT_EQ(message_fault_of(R"({"role":"user","content":"a","tool_calls":[)" + call + "]}"), "messages[1].tool_calls");
}

TEST(B11_ChatMessages, b_text_parts_are_joined) {
  EXPECT_EQ(
      messages_of(
          R"([{"role":"user","content":[{"type":"text","text":"Hel"},{"type":"text","text":"lo"}]}])")[0]["content"],
      "Hello");
  EXPECT_EQ(messages_of(R"([{"role":"user","content":[]}])")[0]["content"], "");
}

TEST(B11_ChatMessages, c_to_f_what_is_no_text_is_refused) {
  EXPECT_EQ(message_fault_of(R"({"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]})"),
            "messages[1].content[0].type");
  EXPECT_EQ(message_fault_of(R"({"role":"user","content":[7]})"), "messages[1].content[0]");
  EXPECT_EQ(message_fault_of(R"({"role":"user","content":[{"type":"text"}]})"), "messages[1].content[0].text");
  EXPECT_EQ(message_fault_of(R"({"role":"user","content":7})"), "messages[1].content");
  EXPECT_EQ(message_fault_of(R"({"role":"user"})"), "messages[1].content");
  EXPECT_EQ(message_fault_of(R"({"role":"assistant","content":null,"tool_calls":[]})"), "messages[1].content");
  EXPECT_EQ(message_fault_of(R"({"role":"robot","content":"a"})"), "messages[1].role");
  EXPECT_EQ(message_fault_of(R"({"content":"a"})"), "messages[1].role");
}

TEST(ChatAsk, ToolsArePassedOnUnlessNoneMayBeUsed) {
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f","parameters":{}}}])";
  EXPECT_EQ(chat(tools).prompt.tools.size(), 1U);
  EXPECT_EQ(chat(tools + R"(,"tool_choice":"auto")").prompt.tools.size(), 1U);
  EXPECT_TRUE(chat(tools + R"(,"tool_choice":"none")").prompt.tools.is_null());
  EXPECT_TRUE(chat(R"("tools":[])").prompt.tools.is_null());
  EXPECT_EQ(chat_fault_of(tools + R"(,"tool_choice":"required")"), "tool_choice");
  EXPECT_EQ(chat_fault_of(tools + R"(,"tool_choice":{"type":"function","function":{"name":"f"}})"), "tool_choice");
  EXPECT_EQ(chat_fault_of(R"("tools":[{"type":"retrieval","function":{"name":"f"}}])"), "tools[0].type");
  EXPECT_EQ(chat_fault_of(R"("tools":[7])"), "tools[0]");
  EXPECT_EQ(chat_fault_of(R"("functions":[{"name":"f"}])"), "functions");
}

TEST(ChatAsk, LogprobsAreAskedForInTwoFields) {
  EXPECT_EQ(chat(R"("logprobs":true)").request.response().logprobs(), 0);
  EXPECT_EQ(chat(R"("logprobs":true,"top_logprobs":3)").request.response().logprobs(), 3);
  EXPECT_FALSE(chat(R"("logprobs":false,"top_logprobs":0)").request.response().has_logprobs());
  EXPECT_EQ(chat_fault_of(R"("top_logprobs":3)"), "top_logprobs");
  EXPECT_EQ(chat_fault_of(R"("logprobs":1)"), "logprobs");
}

TEST(ChatAsk, BothNamesOfMaxTokensAreTaken) {
  EXPECT_EQ(chat(R"("max_tokens":3)").request.stopping().max_tokens(), 3);
  EXPECT_EQ(chat(R"("max_completion_tokens":4)").request.stopping().max_tokens(), 4);
  EXPECT_EQ(chat(R"("max_completion_tokens":4,"max_tokens":4)").request.stopping().max_tokens(), 4);
  EXPECT_EQ(chat_fault_of(R"("max_completion_tokens":4,"max_tokens":5)"), "max_tokens");
}

TEST(ChatAsk, TheTemplatesOptionsArePassedOn) {
  const ChatPromptInput prompt =
      chat(R"("add_generation_prompt":false,"chat_template_kwargs":{"enable_thinking":true})").prompt;
  EXPECT_FALSE(prompt.add_generation_prompt);
  EXPECT_EQ(write_json(prompt.template_kwargs), R"({"enable_thinking":true})");
  EXPECT_TRUE(chat(R"("n":1)").prompt.add_generation_prompt);
}

}  // namespace
}  // namespace sluice::server
