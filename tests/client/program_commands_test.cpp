#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/client/support/program.h"
#include "tests/client/support/scripted_server.h"

namespace sluice::test_support {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Ended sluice(const ScriptedServer& server, std::vector<std::string> arguments, const std::string& input = "") {
  return Program(SLUICE_PROGRAM, std::move(arguments), input, {"SLUICE_ADDRESS=" + server.address()}).wait();
}

/// One id per byte of the text; 1 first with add_bos.
grpc::Status tokenize_bytes(const v1::TokenizeRequest& request, v1::TokenizeResponse& response) {
  if (request.text() == "bad") return {grpc::StatusCode::INVALID_ARGUMENT, "text is bad"};
  if (request.add_bos()) response.add_ids(1);
  for (const char byte : request.text()) response.add_ids(static_cast<unsigned char>(byte));
  return grpc::Status::OK;
}

TEST(SluiceTokenize, WrongUsageIsExitCode2) {
  const ScriptedServer server({.tokenize = tokenize_bytes});
  EXPECT_EQ(sluice(server, {"tokenize"}).exit_code, 2);
  EXPECT_EQ(sluice(server, {"tokenize", "--jsonl", "Hi"}).exit_code, 2);
  EXPECT_EQ(sluice(server, {"tokenize", "\xff"}).exit_code, 2);
  EXPECT_EQ(sluice(server, {"detokenize"}).exit_code, 2);
  EXPECT_EQ(sluice(server, {"detokenize", "a"}).exit_code, 2);
}

TEST(SluiceTokenize, ShowsTheDaemonsRefusal) {
  const ScriptedServer server({.tokenize = tokenize_bytes});
  const Ended ended = sluice(server, {"tokenize", "bad"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("text is bad"));
}

TEST(SluiceTokenize, NamesTheLineOfABadText) {
  const ScriptedServer server({.tokenize = tokenize_bytes});
  const Ended ended = sluice(server, {"tokenize", "--jsonl"}, "{\"text\":\"a\"}\n{\"text\":\"bad\"}\n");
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(ended.out, "{\"ids\":[97]}\n");
  EXPECT_THAT(ended.err, HasSubstr("line 2: text is bad"));
}

TEST(SluiceTokenize, SaysWhenTheOfflineModelIsMissing) {
  const ScriptedServer server({});
  const Ended ended = sluice(server, {"tokenize", "--offline", "/nonexistent/model.gguf", "Hi"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("/nonexistent/model.gguf"));
}

TEST(SluiceTokenize, PrintsIdsOfOneText) {
  const ScriptedServer server({.tokenize = tokenize_bytes});
  EXPECT_EQ(sluice(server, {"tokenize", "ab"}).out, "97 98\n");
  EXPECT_EQ(sluice(server, {"tokenize", "--json", "--add-bos", "a"}).out, "{\"ids\":[1,97]}\n");
  EXPECT_EQ(sluice(server, {"tokenize", "-"}, "a\n").out, "97 10\n");
  EXPECT_EQ(sluice(server, {"tokenize", ""}).out, "\n");
}

TEST(SluiceTokenize, AnswersLinesWithLines) {
  const ScriptedServer server({.tokenize = tokenize_bytes});
  const Ended ended = sluice(server, {"tokenize", "--jsonl"}, "{\"text\":\"a\"}\n{\"text\":\"\"}\n");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "{\"ids\":[97]}\n{\"ids\":[]}\n");
}

TEST(SluiceDetokenize, PrintsTheTextAndNothingElse) {
  const ScriptedServer server(
      {.detokenize = [](const v1::DetokenizeRequest& request, v1::DetokenizeResponse& response) {
        response.set_text(request.keep_special() ? "<s>\"x" : "\"x");
        return request.ids_size() == 2 ? grpc::Status::OK : grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "ids");
      }});
  EXPECT_EQ(sluice(server, {"detokenize", "1 2"}).out, "\"x");
  EXPECT_EQ(sluice(server, {"detokenize", "--keep-special", "-"}, "1 2\n").out, "<s>\"x");
  EXPECT_EQ(sluice(server, {"detokenize", "--json", "1 2"}).out, "{\"text\":\"\\\"x\"}\n");
}

TEST(SluiceLoad, PrintsTheLoad) {
  const ScriptedServer server({.get_load = [](v1::GetLoadResponse& response) {
    response.set_running_sequences(3);
    response.set_max_running(8);
    response.set_blocks_total(512);
    response.set_draining(true);
    return grpc::Status::OK;
  }});
  const Ended text = sluice(server, {"load"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("3 of 8 sequences"));
  EXPECT_THAT(text.out, HasSubstr("draining"));
  const json load = json::parse(sluice(server, {"load", "--json"}).out);
  EXPECT_EQ(load["running_sequences"], 3);
  EXPECT_EQ(load["blocks_total"], 512);
  EXPECT_EQ(load["preemptions"], 0);
}

TEST(SluiceModels, PrintsTheModel) {
  const ScriptedServer server({.get_model = small_model});
  EXPECT_THAT(sluice(server, {"models"}).out, HasSubstr("small\n  architecture  llama"));
  const json models = json::parse(sluice(server, {"models", "--json", "--wait-ms", "60000"}).out);
  EXPECT_EQ(models[0]["name"], "small");
  EXPECT_EQ(models[0]["context_length"], 1024);
  EXPECT_EQ(models[0]["end_ids"], json({2}));
}

TEST(SluiceModels, GivesUpWaitingForADaemonThatIsNotReady) {
  ScriptedServer server({.get_model = small_model});
  server.set_serving(false);
  const Ended ended = sluice(server, {"models", "--wait-ms", "100"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("not ready within 100 ms"));
}

TEST(SluiceHealth, TellsADaemonThatServes) {
  const ScriptedServer server({});
  const Ended ended = sluice(server, {"health", "--wait-ms", "60000"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.out, "SERVING\n");
}

TEST(SluiceHealth, FailsForOneThatDoesNot) {
  ScriptedServer server({});
  server.set_serving(false);
  const Ended ended = sluice(server, {"health", "--wait-ms", "100"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("was not ready within 100 ms"));
}

TEST(SluiceHealth, WaitsForASecondUnlessToldOtherwise) {
  // Where nobody listens.
  const Ended ended = Program(SLUICE_PROGRAM, {"health", "--address", "127.0.0.1:1"}, "", {}).wait();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("127.0.0.1:1 was not ready within 1000 ms"));
}

TEST(Sluice, HelpAndVersionAreFine) {
  const ScriptedServer server({});
  EXPECT_EQ(sluice(server, {"--help"}).exit_code, 0);
  EXPECT_THAT(sluice(server, {"complete", "--help"}).out, HasSubstr("--max-tokens"));
  EXPECT_THAT(sluice(server, {"--version"}).out, testing::StartsWith("sluice "));
}

}  // namespace
}  // namespace sluice::test_support
