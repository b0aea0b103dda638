#include "server/http_api.h"

#include <list>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/http_client.h"
#include "tests/server/test_daemon.h"

namespace sluice::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Json json(std::string_view text) {
  Result<Json> value = parse_json(text);
  EXPECT_TRUE(value.ok()) << value.status() << text;
  return value.ok() ? std::move(value).value() : Json();
}

/// `members` of a greedy request for the scripted text.
std::string body(const std::string& members) {
  return R"({"temperature":0,)" + members + "}";
}

/// The `data` of each event.
std::vector<std::string> events_of(const std::string& text) {
  std::vector<std::string> events;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find("\n\n", begin);
    EXPECT_NE(end, std::string::npos);
    const std::string event = text.substr(begin, end - begin);
    EXPECT_THAT(event, StartsWith("data: "));
    EXPECT_THAT(event, Not(HasSubstr("\n")));
    events.push_back(event.substr(6));
    begin = end + 2;
  }
  return events;
}

/// The conversation in a form that a test can read: "user:Hi|".
Result<std::vector<int32_t>> plain_prompt(const ChatPromptInput& input) {
  std::string text;
  for (const Json& message : input.messages) {
    const Json& content = message["content"];
    text += message["role"].get<std::string>() + ':' + (content.is_null() ? "" : content.get<std::string>()) + '|';
  }
  if (text == "user:refuse|") return invalid_field("messages", "are refused by the template");
  return byte_ids(text);
}

class HttpApiTest : public ::testing::Test {
 protected:
  TestDaemon& start(TestDaemonOptions options = {}) {
    options.chat_prompter = plain_prompt;
    return daemon_.emplace(std::move(options));
  }
  TestDaemon& daemon() { return daemon_ ? *daemon_ : start(); }
  HttpClient client() { return HttpClient(daemon().http_address()); }

  HttpClient::Response complete(const std::string& members, const std::string& fields = {}) {
    return client().post("/v1/completions", body(members), fields);
  }
  HttpClient::Response chat(const std::string& members) {
    return client().post("/v1/chat/completions", body(R"("messages":[{"role":"user","content":"Hi"}],)" + members));
  }
  void expect_refused(const HttpClient::Response& response, unsigned status, const std::string& param) {
    EXPECT_EQ(response.result_int(), status);
    EXPECT_EQ(response[boost::beast::http::field::content_type], "application/json");
    const Json error = json(response.body())["error"];
    EXPECT_EQ(error["param"], param.empty() ? Json(nullptr) : Json(param)) << response.body();
    EXPECT_TRUE(error["message"].is_string() && error["type"].is_string() && error["code"].is_string());
  }

 private:
  std::optional<TestDaemon> daemon_;
};

TEST_F(HttpApiTest, ACompletionIsTextAndUsage) {
  const HttpClient::Response response = complete(R"("prompt":"Hi","max_tokens":4)");
  EXPECT_EQ(response.result_int(), 200U);
  const Json answer = json(response.body());
  EXPECT_EQ(answer["id"], std::string(response["x-request-id"]));
  EXPECT_THAT(answer["id"].get<std::string>(), StartsWith("cmpl-"));
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["model"], "bytes");
  EXPECT_TRUE(answer["created"].is_number_integer());
  EXPECT_EQ(write_json(answer["choices"]), R"([{"index":0,"text":"abcd","logprobs":null,"finish_reason":"length"}])");
  EXPECT_EQ(
      write_json(answer["usage"]),
      R"({"prompt_tokens":2,"completion_tokens":4,"total_tokens":6,"prompt_tokens_details":{"cached_tokens":0}})");
  EXPECT_GT(answer["sluice"]["end_to_end_ms"].get<double>(), 0);
}

TEST_F(HttpApiTest, AStreamSaysTheSame) {
  const HttpClient::Response response =
      complete(R"("prompt":"Hi","max_tokens":4,"stream":true,"stream_options":{"include_usage":true})");
  EXPECT_EQ(response[boost::beast::http::field::content_type], "text/event-stream");
  EXPECT_TRUE(response.chunked());
  std::vector<std::string> events = events_of(response.body());
  ASSERT_GE(events.size(), 4U);
  EXPECT_EQ(events.back(), "[DONE]");
  std::string text;
  for (size_t i = 0; i + 3 < events.size(); ++i) {
    const Json chunk = json(events[i]);
    text += chunk["choices"][0]["text"].get<std::string>();
    EXPECT_TRUE(chunk["choices"][0]["finish_reason"].is_null());
    EXPECT_TRUE(chunk.contains("usage") && chunk["usage"].is_null());
  }
  EXPECT_EQ(text, "abcd");
  EXPECT_EQ(json(events[events.size() - 3])["choices"][0]["finish_reason"], "length");
  const Json last = json(events[events.size() - 2]);
  EXPECT_TRUE(last["choices"].empty());
  EXPECT_EQ(last["usage"]["total_tokens"], 6);
  EXPECT_TRUE(last["sluice"].is_object());
}

TEST_F(HttpApiTest, WithoutUsageTheLastChunkHasTheLedger) {
  const std::vector<std::string> events = events_of(complete(R"("prompt":"Hi","max_tokens":1,"stream":true)").body());
  ASSERT_GE(events.size(), 2U);
  EXPECT_TRUE(json(events[events.size() - 2])["sluice"].is_object());
  EXPECT_FALSE(json(events[0]).contains("usage"));
}

TEST_F(HttpApiTest, LogprobsAreListsOfOneLength) {
  const std::string options = R"("prompt":"Hi","max_tokens":3,"logprobs":2,"echo":true,"n":2)";
  const Json whole = json(complete(options).body());
  for (const Json& choice : whole["choices"]) {
    EXPECT_EQ(choice["text"], "Hiabc");
    const Json& logprobs = choice["logprobs"];
    EXPECT_EQ(write_json(logprobs["tokens"]), R"(["H","i","a","b","c"])");
    EXPECT_EQ(write_json(logprobs["token_logprobs"]), "[null,-0.5,-0.5,-0.5,-0.5]");
    EXPECT_EQ(write_json(logprobs["text_offset"]), "[0,1,2,3,4]");
    EXPECT_EQ(write_json(logprobs["token_ids"]), "[72,105,97,98,99]");
    EXPECT_EQ(write_json(logprobs["bytes"]), "[[72],[105],[97],[98],[99]]");
    EXPECT_EQ(write_json(logprobs["top_logprobs"][1]), R"({"\u0000":-1.0,"\u0001":-2.0,"i":-0.5})");
    EXPECT_EQ(logprobs["top_logprobs"].size(), 5U);
  }
  Json joined = {{"tokens", Json::array()}, {"text_offset", Json::array()}, {"token_logprobs", Json::array()}};
  std::string text;
  for (const std::string& event : events_of(complete(options + R"(,"stream":true)").body())) {
    if (event == "[DONE]") continue;
    const Json choice = json(event)["choices"][0];
    if (choice["index"] != 1 || choice["logprobs"].is_null()) continue;
    text += choice["text"].get<std::string>();
    for (auto& [name, list] : joined.items())
      list.insert(list.end(), choice["logprobs"][name].begin(), choice["logprobs"][name].end());
  }
  EXPECT_EQ(text, "Hiabc");
  for (const auto& [name, list] : joined.items()) EXPECT_EQ(list, whole["choices"][1]["logprobs"][name]) << name;
}

TEST_F(HttpApiTest, AHalfCharacterIsToldByItsBytes) {
  const Json answer = json(complete(R"("prompt":[195],"max_tokens":1,"logprobs":0,"echo":true)").body());
  EXPECT_EQ(answer["choices"][0]["logprobs"]["tokens"][0], "bytes:\\xc3");
  EXPECT_EQ(answer["choices"][0]["text"],
            "\xef\xbf\xbd"
            "a");
}

TEST_F(HttpApiTest, AConversationIsAnsweredByAMessage) {
  const HttpClient::Response response = chat(R"("max_completion_tokens":3,"logprobs":true,"top_logprobs":1,"n":2)");
  const Json answer = json(response.body());
  EXPECT_THAT(answer["id"].get<std::string>(), StartsWith("chatcmpl-"));
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 8) << "user:Hi|";
  ASSERT_EQ(answer["choices"].size(), 2U);
  EXPECT_EQ(write_json(answer["choices"][1]["message"]), R"({"role":"assistant","content":"abc","refusal":null})");
  EXPECT_EQ(
      write_json(answer["choices"][0]["logprobs"]["content"][0]),
      R"({"token":"a","logprob":-0.5,"bytes":[97],"token_id":97,"top_logprobs":[{"token":"\u0000","logprob":-1.0,"bytes":[0],"token_id":0}]})");
}

TEST_F(HttpApiTest, AConversationsStreamBeginsWithTheRole) {
  const std::vector<std::string> events =
      events_of(chat(R"("max_tokens":2,"n":2,"stream":true,"stream_options":{"include_usage":true})").body());
  EXPECT_EQ(write_json(json(events[0])["choices"]),
            R"([{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}])");
  EXPECT_EQ(json(events[1])["choices"][0]["index"], 1);
  std::vector<std::string> texts(2);
  std::vector<int> ends(2);
  for (const std::string& event : events) {
    if (event == "[DONE]") continue;
    const Json chunk = json(event);
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    for (const Json& choice : chunk["choices"]) {
      const auto index = choice["index"].get<size_t>();
      if (choice["delta"].contains("content")) texts[index] += choice["delta"]["content"].get<std::string>();
      if (!choice["finish_reason"].is_null()) ++ends[index];
    }
  }
  EXPECT_THAT(texts, ElementsAre("ab", "ab"));
  EXPECT_THAT(ends, ElementsAre(1, 1));
  EXPECT_EQ(json(events[events.size() - 2])["usage"]["completion_tokens"], 4);
}

TEST_F(HttpApiTest, WhatTheTemplateRefusesIsABadRequest) {
  expect_refused(client().post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"refuse"}]})"), 400,
                 "messages");
}

TEST_F(HttpApiTest, ErrorsNameTheFieldInBothShapes) {
  for (const char* const stream : {"", R"(,"stream":true)"}) {
    const auto refused = [&](const std::string& members, const std::string& param) {
      const HttpClient::Response response = complete(members + stream);
      expect_refused(response, 400, param);
      EXPECT_NE(response["x-request-id"], "");
    };
    refused(R"("prompt":"Hi","top_p":1.5)", "top_p");
    refused(R"("prompt":"Hi","n":0)", "n");
    refused(R"("prompt":"Hi","n":2147483647)", "n");
    refused(R"("prompt":"Hi","stop":[""])", "stop[0]");
    refused(R"("prompt":"Hi","logit_bias":{"260":1})", "logit_bias");
    refused(R"("prompt":[260])", "prompt[0]");
    refused(R"("prompt":"")", "prompt");
    refused(R"("max_tokens":1)", "prompt");
    refused(R"("prompt":"Hi","top_k":"all")", "top_k");
    expect_refused(complete(R"("prompt":"Hi","model":"gpt-5")" + std::string(stream)), 404, "model");
  }
  expect_refused(chat(R"("logprobs":true,"top_logprobs":21)"), 400, "top_logprobs");
  expect_refused(chat(R"("max_completion_tokens":-1)"), 400, "max_completion_tokens");
  expect_refused(client().post("/v1/completions", "{"), 400, "");
}

TEST_F(HttpApiTest, HeadersAreCheckedToo) {
  expect_refused(complete(R"("prompt":"Hi")", "x-request-timeout-ms: 0\r\n"), 400, "x-request-timeout-ms");
  expect_refused(complete(R"("prompt":"Hi")", "x-request-timeout-ms: soon\r\n"), 400, "x-request-timeout-ms");
  expect_refused(complete(R"("prompt":"Hi")", "x-request-timeout-ms: 86400001\r\n"), 400, "x-request-timeout-ms");
  expect_refused(complete(R"("prompt":"Hi")", "x-tenant: " + std::string(129, 't') + "\r\n"), 400, "x-tenant");
  const HttpClient::Response good = complete(
      R"("prompt":"Hi","max_tokens":1)", "x-request-timeout-ms: 86400000\r\nx-tenant: me\r\nx-request-id: mine 1\r\n");
  EXPECT_EQ(good.result_int(), 200U);
  EXPECT_EQ(good["x-request-id"], "mine 1");
  EXPECT_NE(complete(R"("prompt":"Hi","max_tokens":1)", "x-request-id: a\x01\r\n")["x-request-id"], "a\x01");
}

TEST_F(HttpApiTest, UnknownMembersAreNamedInAHeader) {
  EXPECT_EQ(complete(R"("prompt":"Hi","max_tokens":1,"store":true,"a\r\nb":1)")["x-sluice-ignored"], "store, a??b");
  EXPECT_EQ(complete(R"("prompt":"Hi","max_tokens":1)").count("x-sluice-ignored"), 0U);
}

TEST_F(HttpApiTest, ARunThatFailsInTheMiddleEndsItsStreamWithAnError) {
  daemon().executor().hold();
  HttpClient client = this->client();
  client.send_post("/v1/completions", body(R"("prompt":"Hi","max_tokens":9,"stream":true)"));
  daemon().executor().let(2);
  EXPECT_TRUE(eventually([&] { return daemon().core().stats().decode_tokens >= 1; }));
  daemon().executor().fail_next_step(internal_error("the engine broke"));
  daemon().executor().release();
  const std::vector<std::string> events = events_of(client.read().body());
  const Json error = json(events.back())["error"];
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("the engine broke"));
  EXPECT_EQ(error["type"], "server_error");
  EXPECT_EQ(client.post("/v1/completions", body(R"("prompt":"Hi","max_tokens":1)")).result_int(), 200U)
      << "the connection goes on";
}

TEST_F(HttpApiTest, ARunThatFailsUnstreamedIsA500) {
  daemon().executor().fail_next_step(internal_error("the engine broke"));
  expect_refused(complete(R"("prompt":"Hi","max_tokens":9)"), 500, "");
}

TEST_F(HttpApiTest, AFullQueueSaysWhenToComeBack) {
  TestDaemonOptions options;
  options.config.scheduler.max_running = 1;
  options.config.scheduler.max_queued_requests = 1;
  start(options);
  daemon().executor().hold();
  std::list<HttpClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(daemon().http_address())
        .send_post("/v1/completions", body(R"("prompt":"Hi","max_tokens":1,"stream":true)"));
  }
  EXPECT_TRUE(eventually([&] { return daemon().core().stats().refused == 1; }));  // while the step is held
  daemon().executor().release();
  int served = 0;
  for (HttpClient& client : clients) {
    const HttpClient::Response response = client.read();
    served += response.result_int() == 200U ? 1 : 0;
    if (response.result_int() == 200U) continue;
    EXPECT_EQ(response.result_int(), 429U);
    EXPECT_NE(response["retry-after"], "");
    EXPECT_GT(std::stoll(std::string(response["retry-after-ms"])), 0);
    EXPECT_EQ(json(response.body())["error"]["type"], "rate_limit_error");
  }
  EXPECT_EQ(served, 2);
}

TEST_F(HttpApiTest, ADrainingDaemonRefusesWith503) {
  daemon().core().intake().close();
  const HttpClient::Response refused = complete(R"("prompt":"Hi")");
  expect_refused(refused, 503, "");
  EXPECT_EQ(refused["retry-after"], "1");
}

TEST_F(HttpApiTest, ADeadlineEndsARequestWith408) {
  daemon().executor().hold();
  HttpClient client = this->client();
  client.send_post("/v1/completions", body(R"("prompt":"Hi","max_tokens":400)"), "x-request-timeout-ms: 500\r\n");
  const auto half_a_second = [&] {
    return [&clock = daemon().clock(), end = daemon().clock().now() + std::chrono::milliseconds(500)] {
      return clock.now() > end;
    };
  };
  // On a machine that is slow enough it never runs.
  EXPECT_TRUE(eventually([&, is_late = half_a_second()] { return daemon().core().stats().running == 1 || is_late(); }));
  daemon().executor().let(1);
  EXPECT_TRUE(eventually(half_a_second()));
  daemon().executor().release();
  expect_refused(client.read(), 408, "");
  EXPECT_TRUE(daemon().becomes_idle());
}

TEST(B21_HttpDisconnect, a_b_clients_that_go_away_give_their_blocks_back) {
  for (const char* const stream : {"false", "true"}) {
    TestDaemon daemon;
    daemon.executor().hold();
    std::list<HttpClient> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back(daemon.http_address())
          .send_post("/v1/completions", body(R"("prompt":"Hi","max_tokens":100,"stream":)" + std::string(stream)));
    }
    EXPECT_TRUE(eventually([&] { return daemon.core().streams().session_count() == 4; }));
    daemon.executor().let(3);
    clients.clear();
    EXPECT_TRUE(daemon.calls_end());
    daemon.executor().release();
    EXPECT_TRUE(daemon.becomes_idle());
    EXPECT_LT(daemon.core().stats().decode_tokens, 100U);
  }
}

TEST_F(HttpApiTest, AReaderThatDoesNotReadCostsOnlyItself) {
  TestDaemonOptions options;
  options.config.server.stream_buffer_tokens = 64;
  options.context_length = 20000;
  options.block_count = 4000;
  options.http_limits.write_timeout = std::chrono::seconds(60);
  start(options);
  HttpClient stuck = client();
  stuck.send_post("/v1/completions", body(R"("prompt":"Hi","max_tokens":19000,"logprobs":20,"stream":true)"));
  // Not whether it runs: it may be given up before anybody looks.
  EXPECT_TRUE(eventually([&] { return daemon().core().stats().steps > 0; }));
  EXPECT_EQ(json(complete(R"("prompt":"Hi","max_tokens":10)").body())["choices"][0]["text"], "abcdefghij");
  EXPECT_TRUE(daemon().becomes_idle()) << "given up while nobody reads";
  const std::vector<std::string> events = events_of(stuck.read().body());
  EXPECT_THAT(json(events.back())["error"]["message"].get<std::string>(), HasSubstr("reader too slow"));
}

TEST_F(HttpApiTest, TextBecomesTokensAndText) {
  EXPECT_EQ(client().post("/tokenize", R"({"prompt":"Hé","return_token_strs":true})").body(),
            R"({"count":3,"max_model_len":512,"tokens":[72,195,169],"token_strs":["H","bytes:\\xc3","bytes:\\xa9"]})"
            "\n");
  EXPECT_EQ(json(client().post("/tokenize", R"({"prompt":"a<|user|>","parse_special":true})").body())["tokens"],
            Json({97, kUser}));
  EXPECT_EQ(client().post("/detokenize", R"({"tokens":[72,195,169,257]})").body(), "{\"prompt\":\"Hé\"}\n");
  EXPECT_EQ(client().post("/detokenize", R"({"tokens":[72,257],"keep_special":true})").body(),
            "{\"prompt\":\"H<|user|>\"}\n");
  expect_refused(client().post("/tokenize", "{}"), 400, "prompt");
  expect_refused(client().post("/tokenize", R"({"prompt":7})"), 400, "prompt");
  expect_refused(
      client().post("/tokenize", R"({"prompt":")" + std::string((1 << 20) + 1, 'a') + R"("})", "Connection: close\r\n"),
      413, "");
  expect_refused(client().post("/tokenize", "[]"), 400, "");
  expect_refused(client().post("/tokenize", R"({"prompt":"a","model":"b"})"), 404, "model");
  expect_refused(client().post("/detokenize", R"({"tokens":[260]})"), 400, "tokens[0]");
  expect_refused(client().post("/detokenize", R"({"tokens":["a"]})"), 400, "tokens[0]");
  expect_refused(client().post("/detokenize", "{}"), 400, "tokens");
}

TEST_F(HttpApiTest, TellsItsModel) {
  const Json models = json(client().get("/v1/models").body());
  EXPECT_EQ(write_json(models["data"][0]),
            R"({"id":"bytes","object":"model","created":1700000000,"owned_by":"sluice","max_model_len":512})");
  EXPECT_EQ(json(client().get("/v1/models/%62ytes").body())["id"], "bytes");
  expect_refused(client().get("/v1/models/other"), 404, "model");
  expect_refused(client().get("/v1/nothing"), 404, "");
  EXPECT_EQ(client().get("/v1/completions").result_int(), 405U);
}

TEST(HttpApi, RefusesWhileTheModelIsLoaded) {
  HttpApi api;
  const auto server = HttpServer::start({"127.0.0.1", 0}, api.routes());
  ASSERT_TRUE(server.ok());
  HttpClient client((*server)->address());
  for (const char* const path : {"/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize"})
    EXPECT_EQ(client.post(path, "{}").result_int(), 503U);
  EXPECT_EQ(client.get("/v1/models").result_int(), 503U);
  EXPECT_EQ(client.get("/openapi.json").result_int(), 200U);
}

TEST(HttpApi, WithoutAPrompterConversationsAreNotServed) {
  TestDaemon daemon;
  HttpClient client(daemon.http_address());
  EXPECT_EQ(client.post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"Hi"}]})").result_int(), 501U);
  EXPECT_EQ(client.post("/v1/chat/completions", R"({"messages":[]})").result_int(), 400U);
}

}  // namespace
}  // namespace sluice::server
