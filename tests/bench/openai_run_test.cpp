#include <atomic>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/mutex.h"
#include "tests/bench/ran_program.h"
#include "tests/bench/scripted_http_server.h"

namespace sluice::bench {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;

std::string text_chunk(const std::string& text) {
  return json({{"choices", {{{"index", 0}, {"text", text}, {"finish_reason", nullptr}}}}}).dump();
}
std::string delta_chunk(const json& delta) {
  return json({{"choices", {{{"index", 0}, {"delta", delta}, {"finish_reason", nullptr}}}}}).dump();
}
std::string end_chunk() {
  return json({{"choices", {{{"index", 0}, {"text", ""}, {"finish_reason", "length"}}}}}).dump();
}
std::string usage_chunk(int prompt, int completion) {
  return json({{"choices", json::array()}, {"usage", {{"prompt_tokens", prompt}, {"completion_tokens", completion}}}})
      .dump();
}

/// A whole answer with one token per event.
void answer(const HttpAsked& asked, HttpWire& wire) {
  const int tokens = json::parse(asked.body)["max_tokens"];
  wire.begin_stream();
  for (int i = 0; i < tokens; ++i) wire.event(text_chunk("a"));
  wire.event(end_chunk());
  wire.event(usage_chunk(10, tokens));
  wire.event("[DONE]");
  wire.end_stream();
}

const std::vector<std::string> kTwo{"--concurrency", "1", "--requests", "2", "--warmup", "0", "--output-tokens", "3"};

TEST(B31_OpenAiRun, MeasuresAScriptedServerOverLoopback) {
  const SteadyClock clock;
  const ScriptedHttpServer server([&](const HttpAsked&, HttpWire& wire) {
    const TimePoint start = clock.now();
    wire.begin_stream();
    wire.wait_until(start + milliseconds(10));
    wire.event(delta_chunk({{"role", "assistant"}, {"content", ""}}));
    for (int i = 0; i < 3; ++i) {
      wire.wait_until(start + milliseconds(100 + 50 * i));
      wire.event(delta_chunk({{"content", "A"}}));
    }
    wire.event(end_chunk());
    wire.event(usage_chunk(5, 3));
    wire.event("[DONE]");
    wire.end_stream();
  });
  const Ran ran = run_bench(server.url(), kTwo);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.report["output_tokens"], 6);
  EXPECT_EQ(ran.report["prompt_tokens"], 10);
  // The role's chunk was no token, however late a busy machine is.
  EXPECT_GE(ran.report["ttft_ms"]["p50"], 100.0);
  EXPECT_GE(ran.report["e2e_ms"]["p50"], 200.0);
  const double e2e = ran.report["e2e_ms"]["mean"];
  EXPECT_LE(2 * ran.report["tpot_ms"]["mean"].get<double>(), e2e - ran.report["ttft_ms"]["mean"].get<double>() + 0.01);
  EXPECT_EQ(ran.report["uncounted_answers"], 0);
}

TEST(B31_OpenAiRun, FourTokensInOneChunkAreFour) {
  const ScriptedHttpServer server([](const HttpAsked&, HttpWire& wire) {
    wire.begin_stream();
    wire.event(text_chunk("one two three four"));
    wire.event(usage_chunk(5, 4));
    wire.event("[DONE]");
    wire.end_stream();
  });
  EXPECT_EQ(run_bench(server.url(), kTwo).report["output_tokens"], 8);
}

TEST(B31_OpenAiRun, FifteenBlanksAreFifteen) {
  const ScriptedHttpServer server([](const HttpAsked&, HttpWire& wire) {
    wire.begin_stream();
    wire.event(text_chunk(std::string(15, ' ')));
    wire.event(usage_chunk(5, 15));
    wire.event("[DONE]");
    wire.end_stream();
  });
  EXPECT_EQ(run_bench(server.url(), kTwo).report["output_tokens"], 30);
}

TEST(B31_OpenAiRun, WithoutUsageChunksAreCountedAndTheReportSaysSo) {
  const ScriptedHttpServer server([](const HttpAsked&, HttpWire& wire) {
    wire.begin_stream();
    for (int i = 0; i < 3; ++i) wire.event(text_chunk("a"));
    wire.event("[DONE]");
    wire.end_stream();
  });
  const Ran ran = run_bench(server.url(), kTwo);
  EXPECT_EQ(ran.report["output_tokens"], 6);
  EXPECT_EQ(ran.report["uncounted_answers"], 2);
  EXPECT_THAT(ran.out, HasSubstr("2 answers without usage: pieces of text were counted as tokens"));
  EXPECT_THAT(ran.csv, HasSubstr(",3,pieces,"));
}

TEST(OpenAiRun, FailsWhenNobodyListens) {
  const Ran ran = run_bench("http://127.0.0.1:1", kTwo);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("127.0.0.1:1/v1/models"));
}

TEST(OpenAiRun, MetricsThatAreNoneAreAnErrorOnlyWhereTheyWereAskedFor) {
  const ScriptedHttpServer server(answer);
  for (const std::string& url : {std::string("127.0.0.1:1"), server.url() + "/metrics"}) {
    std::vector<std::string> arguments = kTwo;
    arguments.insert(arguments.end(), {"--metrics", url});
    const Ran ran = run_bench(server.url(), arguments);
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_THAT(ran.err, HasSubstr("--metrics"));
  }
  EXPECT_EQ(run_bench(server.url(), kTwo).report["server"], nullptr);
}

TEST(OpenAiRun, ADatasetThatIsNoneIsNamed) {
  const ScriptedHttpServer server(answer);
  const Ran ran = run_bench(
      server.url(), {"--concurrency", "1", "--requests", "1", "--dataset", SLUICE_SOURCE_DIR "/ARCHITECTURE.md"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("ARCHITECTURE.md:1: is not a JSON object"));
}

TEST(OpenAiRun, RequestsThatFailAreCountedByKindAndAreNeverFast) {
  const SteadyClock clock;
  std::atomic<int> calls = 0;
  const ScriptedHttpServer server([&](const HttpAsked& asked, HttpWire& wire) {
    switch (calls++) {
      case 0:
        // The head alone, and the body after it.
        wire.send("HTTP/1.1 429 X\r\nContent-Type: application/json\r\nContent-Length: 43\r\n\r\n");
        wire.wait_until(clock.now() + milliseconds(20));
        return wire.send(R"({"error":{"message":"the queue is full"} } )");
      case 1:  // closed within the stream
        wire.begin_stream();
        wire.event(text_chunk("a"));
        return wire.close();
      case 2:  // ended without [DONE]
        wire.begin_stream();
        wire.event(text_chunk("a"));
        return wire.end_stream();
      case 3:
        wire.begin_stream();
        wire.event(R"({"error":{"message":"out of memory"}})");
        wire.event("[DONE]");
        return wire.end_stream();
      case 4:
        wire.begin_stream();
        wire.event("{{{");
        return wire.end_stream();
      case 5:
        wire.send("no HTTP at all\r\n\r\n");
        return wire.close();
      case 6:
        return wire.whole(200, "application/json", R"({"choices":[{"text":"whole"}]})");
      default:
        return answer(asked, wire);
    }
  });
  const Ran ran = run_bench(server.url(), {"--concurrency", "1", "--requests", "9", "--warmup", "0", "--output-tokens",
                                           "3", "--slo", "ttft=1m"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.report["errors_by_code"], json({{"HTTP_429", 1},
                                                {"CLOSED_EARLY", 1},
                                                {"NO_DONE", 1},
                                                {"ERROR_EVENT", 1},
                                                {"BAD_STREAM", 1},
                                                {"BAD_HTTP", 1},
                                                {"NOT_A_STREAM", 1}}));
  EXPECT_EQ(ran.report["errors"], 7);
  EXPECT_EQ(ran.report["e2e_ms"]["count"], 2);
  EXPECT_EQ(ran.report["ttft_ms"]["count"], 2);
  EXPECT_EQ(ran.report["output_tokens"], 6);
  EXPECT_NEAR(ran.report["goodput"]["share"], 2.0 / 9, 1e-9);
  EXPECT_THAT(ran.out, HasSubstr("1 HTTP_429, e.g. HTTP 429: the queue is full"));
  EXPECT_THAT(ran.csv, HasSubstr("HTTP_429,\"HTTP 429: the queue is full\""));
}

TEST(OpenAiRun, KeepsItsConnectionsAndOpensOneOnlyWhereNoneIsFree) {
  const ScriptedHttpServer server(answer);
  const Ran ran = run_bench(server.url(), {"--concurrency", "1", "--requests", "20", "--output-tokens", "2"});
  EXPECT_EQ(ran.report["errors"], 0) << ran.out;
  EXPECT_LE(server.connections(), 2);  // of the metrics, and of all the rest
}

TEST(OpenAiRun, AConnectionThatWasClosedBetweenRequestsIsNoFailure) {
  const ScriptedHttpServer server([](const HttpAsked& asked, HttpWire& wire) {
    answer(asked, wire);
    wire.close();
  });
  const Ran ran = run_bench(server.url(), {"--concurrency", "2", "--requests", "20", "--output-tokens", "2"});
  EXPECT_EQ(ran.report["requests"], 20);
  EXPECT_EQ(ran.report["errors"], 0) << ran.out;
}

TEST(OpenAiRun, AsksForTheServersModelAndTellsWhoCalls) {
  Mutex mutex;
  std::vector<HttpAsked> asked;
  const ScriptedHttpServer server([&](const HttpAsked& request, HttpWire& wire) {
    {
      const MutexLock lock(mutex);
      asked.push_back(request);
    }
    answer(request, wire);
  });
  const Ran ran = run_bench(server.url() + "/v1", {"--concurrency", "1", "--requests", "3", "--prompt-tokens", "4",
                                                   "--api-key", "sk-1", "--tenant", "blue", "--warmup", "0"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_THAT(asked[0].head, HasSubstr("POST /v1/completions HTTP/1.1\r\n"));
  EXPECT_THAT(asked[0].head, HasSubstr("Authorization: Bearer sk-1\r\n"));
  EXPECT_THAT(asked[0].head, HasSubstr("X-Tenant: blue\r\n"));
  const json body = json::parse(asked[0].body);
  EXPECT_EQ(body["model"], "scripted");
  EXPECT_TRUE(body["prompt"].is_string());
  EXPECT_NE(body["prompt"], json::parse(asked[1].body)["prompt"]);
  EXPECT_EQ(ran.report["settings"]["model"], "scripted");
}

TEST(OpenAiRun, PromptsAreIdsWhereTheServerTakesThose) {
  Mutex mutex;
  json prompt;
  const ScriptedHttpServer server([&](const HttpAsked& request, HttpWire& wire) {
    {
      const MutexLock lock(mutex);
      prompt = json::parse(request.body)["prompt"];
    }
    answer(request, wire);
  });
  run_bench(server.url(), {"--concurrency", "1", "--requests", "1", "--prompt-tokens", "4", "--vocab-size", "100"});
  ASSERT_EQ(prompt.size(), 4U);
  for (const json& id : prompt) EXPECT_LT(id, 100);
}

TEST(OpenAiRun, AConversationGoesOnWithItsHistory) {
  Mutex mutex;
  std::vector<json> messages;
  const ScriptedHttpServer server([&](const HttpAsked& request, HttpWire& wire) {
    {
      const MutexLock lock(mutex);
      messages.push_back(json::parse(request.body)["messages"]);
    }
    EXPECT_THAT(request.head, HasSubstr("POST /v1/chat/completions HTTP/1.1"));
    wire.begin_stream();
    wire.event(delta_chunk({{"content", "My "}}));
    wire.event(delta_chunk({{"content", "answer"}}));
    wire.event("[DONE]");
    wire.end_stream();
  });
  const Ran ran = run_bench(server.url(), {"--concurrency", "1", "--requests", "5", "--turns", "3", "--endpoint",
                                           "chat", "--prompt-tokens", "4", "--warmup", "0", "--output-tokens", "2"});
  EXPECT_EQ(ran.report["requests"], 5);
  ASSERT_EQ(messages.size(), 5U);
  // Three turns, and two of a conversation that the number of requests cuts off.
  const std::vector<size_t> sizes{1, 3, 5, 1, 3};
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(messages[i].size(), sizes[i]) << i;
  EXPECT_EQ(messages[1][0], messages[0][0]);
  EXPECT_EQ(messages[1][1], json({{"role", "assistant"}, {"content", "My answer"}}));
  EXPECT_EQ(messages[1][2]["role"], "user");
  EXPECT_NE(messages[1][2]["content"], messages[0][0]["content"]);
  EXPECT_NE(messages[3][0]["content"], messages[0][0]["content"]);
}

TEST(OpenAiRun, NoVerdictWhenTheClientWasTheLimit) {
  const SteadyClock clock;
  // One at a time at 50 ms each, but 100 a second are due: what is sent is sent late.
  const ScriptedHttpServer server([&](const HttpAsked& asked, HttpWire& wire) {
    wire.wait_until(clock.now() + milliseconds(50));
    answer(asked, wire);
  });
  const std::vector<std::string> load{"--rate",   "100", "--requests",      "10", "--in-flight-max", "1",
                                      "--warmup", "0",   "--output-tokens", "2",  "--slo",           "ttft=1m"};
  const Ran late = run_bench(server.url(), load);
  EXPECT_EQ(late.report["client"]["is_limit"], true);
  EXPECT_THAT(late.report["client"]["because"], HasSubstr("--slip-limit-ms"));
  EXPECT_EQ(late.report["goodput"]["verdict"], nullptr);
  EXPECT_EQ(late.report["goodput"]["share"], 1.0);
  EXPECT_THAT(late.out, HasSubstr("The client was the limit"));
  EXPECT_THAT(late.out, HasSubstr("verdict     none"));
  std::vector<std::string> patient = load;
  patient.insert(patient.end(), {"--slip-limit-ms", "100000"});
  const Ran fine = run_bench(server.url(), patient);
  EXPECT_EQ(fine.report["client"]["is_limit"], false);
  EXPECT_EQ(fine.report["goodput"]["verdict"], "pass");
}

}  // namespace
}  // namespace sluice::bench
