#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/completion_ask.h"
#include "server/http_api.h"
#include "server/openapi_text.h"
#include "server/request_parser.h"
#include "tests/server/byte_model.h"

namespace sluice::server {
namespace {

/// The description of openapi.json, and what the parsers make of bodies.
class OpenApiTest : public ::testing::Test {
 protected:
  const Json& schema(const std::string& name) const { return description_["components"]["schemas"][name]; }

  /// The field at fault; "" when the whole way to the core takes it.
  std::string fault_of(const std::string& schema_name, const std::string& field, const Json& value) const {
    const bool is_chat = schema_name == "ChatRequest";
    Json body = is_chat ? Json{{"messages", Json::array({{{"role", "user"}, {"content", "a"}}})}, {"logprobs", true}}
                        : Json{{"prompt", "a"}};
    if (field == "best_of") body["n"] = value;
    body[field] = value;
    v1::CompleteRequest request;
    if (is_chat) {
      const Result<ChatAsk> ask = parse_chat_ask(body);
      if (!ask.ok()) return ask.status().field();
      request = ask->request;
      request.set_text("a");
    } else {
      const Result<CompletionAsk> ask = parse_completion_ask(body);
      if (!ask.ok()) return ask.status().field();
      request = ask->request;
    }
    const AskKind kind = is_chat ? AskKind::kChat : AskKind::kCompletion;
    return in_json_terms(parse_complete_request(request, model_, {.arrival = TimePoint{}}).status(), kind).field();
  }

  Json description_ = parse_json(openapi_text()).value();
  const std::unique_ptr<engine::Tokenizer> tokenizer_ = byte_tokenizer();
  ServedModel model_ = byte_model(*tokenizer_, 512, 1024);
};

TEST_F(OpenApiTest, ItsLimitsAreTheParsers) {
  int limits = 0;
  for (const std::string name : {"CompletionRequest", "ChatRequest"}) {
    for (const auto& [field, property] : schema(name)["properties"].items()) {
      const bool is_whole = property.value("type", Json()) == Json({"integer", "null"});
      for (const char* const bound : {"minimum", "maximum", "exclusiveMinimum"}) {
        if (!property.contains(bound)) continue;
        ++limits;
        const Json& value = property[bound];
        const double step = is_whole ? 1 : 1e-3;
        const double outside = value.get<double>() + (bound == std::string("maximum") ? step : -step);
        const bool is_excluded = bound == std::string("exclusiveMinimum");
        EXPECT_EQ(fault_of(name, field, value) == "", !is_excluded) << name << ' ' << field << ' ' << bound;
        EXPECT_NE(fault_of(name, field,
                           is_whole && field != "seed" ? Json(static_cast<int64_t>(outside)) : Json(outside * 2)),
                  "")
            << name << ' ' << field << ' ' << bound;
      }
    }
  }
  EXPECT_GE(limits, 40);
}

TEST_F(OpenApiTest, ItsListsAreAsLongAsTheParserTakes) {
  const auto list = [](size_t count, const Json& item) { return Json(std::vector<Json>(count, item)); };
  const Json& stop = schema("CompletionRequest")["properties"]["stop"]["anyOf"][1];
  const auto stops = stop["maxItems"].get<size_t>();
  EXPECT_EQ(fault_of("CompletionRequest", "stop", list(stops, "x")), "");
  EXPECT_EQ(fault_of("CompletionRequest", "stop", list(stops + 1, "x")), "stop");
  const auto stop_bytes = stop["items"]["maxLength"].get<size_t>();
  EXPECT_EQ(fault_of("CompletionRequest", "stop", std::string(stop_bytes, 'x')), "");
  EXPECT_EQ(fault_of("CompletionRequest", "stop", std::string(stop_bytes + 1, 'x')), "stop[0]");
  const auto ids = schema("CompletionRequest")["properties"]["stop_token_ids"]["maxItems"].get<size_t>();
  EXPECT_EQ(fault_of("CompletionRequest", "stop_token_ids", list(ids, 1)), "");
  EXPECT_EQ(fault_of("CompletionRequest", "stop_token_ids", list(ids + 1, 1)), "stop_token_ids");
  const auto salt_bytes = schema("CompletionRequest")["properties"]["cache_salt"]["maxLength"].get<size_t>();
  EXPECT_EQ(fault_of("CompletionRequest", "cache_salt", std::string(salt_bytes, 'x')), "");
  EXPECT_EQ(fault_of("CompletionRequest", "cache_salt", std::string(salt_bytes + 1, 'x')), "cache_salt");
}

TEST_F(OpenApiTest, EveryFieldItDescribesIsRead) {
  for (const std::string name : {"CompletionRequest", "ChatRequest"}) {
    Json body = Json::object();
    for (const auto& [field, property] : schema(name)["properties"].items()) body[field] = nullptr;
    body["messages"] = Json::array({{{"role", "user"}, {"content", "a"}}});
    const bool is_chat = name == "ChatRequest";
    const auto ignored = is_chat ? parse_chat_ask(body)->wish.ignored : parse_completion_ask(body)->wish.ignored;
    const std::vector<std::string> others = is_chat ? std::vector<std::string>() : std::vector<std::string>{"messages"};
    EXPECT_EQ(ignored, others);
  }
}

TEST_F(OpenApiTest, ItDescribesTheRoutesThereAre) {
  HttpApi api;
  std::vector<std::string> served;
  for (const HttpRoute& route : api.routes()) {
    if (route.path != "/openapi.json") served.push_back(route.path);
  }
  std::vector<std::string> described;
  for (const auto& [path, item] : description_["paths"].items()) described.push_back(path.substr(0, path.find('{')));
  std::ranges::sort(served);
  std::ranges::sort(described);
  EXPECT_EQ(described, served);
}

}  // namespace
}  // namespace sluice::server
