#include "bench/openai_target.h"

#include <nlohmann/json.hpp>

#include "bench/openai_answer.h"

namespace sluice::bench {
namespace {

using Json = nlohmann::json;
using Headers = std::vector<std::pair<std::string, std::string>>;

Headers headers_of(const OpenAiConfig& config, const std::string& tenant) {
  Headers headers;
  if (!config.api_key.empty()) headers.emplace_back("Authorization", "Bearer " + config.api_key);
  if (!tenant.empty()) headers.emplace_back("X-Tenant", tenant);
  return headers;
}

class OpenAiExchange final : public HttpExchange {
 public:
  OpenAiExchange(std::string request, AnswerSink& sink) : HttpExchange(std::move(request)), answer_(sink) {}

  void on_head(int status, std::string_view content_type) override { answer_.on_head(status, content_type); }
  void on_body(std::string_view piece) override { answer_.on_body(piece); }
  void on_end(HttpEnd end, const std::string& problem) override {
    switch (end) {
      case HttpEnd::kWhole:
        return answer_.on_body_end();
      case HttpEnd::kClosedEarly:
        return answer_.fail("CLOSED_EARLY", unavailable("the connection was closed before the end: " + problem));
      case HttpEnd::kCannotConnect:
        return answer_.fail("CANNOT_CONNECT", unavailable("cannot connect: " + problem));
      case HttpEnd::kBadResponse:
        return answer_.fail("BAD_HTTP", internal_error("the answer is no HTTP: " + problem));
      case HttpEnd::kCancelled:
        return answer_.fail("CANCELLED", Status(StatusCode::kCancelled, problem));
    }
  }

 private:
  OpenAiAnswer answer_;
};

class OpenAiCall final : public Call {
 public:
  OpenAiCall(HttpClient& client, std::string request, AnswerSink& sink)
      : client_(client), exchange_(std::make_shared<OpenAiExchange>(std::move(request), sink)) {}

  void start() override { client_.start(exchange_); }
  void cancel() override { client_.cancel(exchange_); }

 private:
  HttpClient& client_;
  const std::shared_ptr<OpenAiExchange> exchange_;
};

/// The first model of GET /models, with its context where vLLM's `max_model_len` tells it.
Result<ServedModel> first_model(HttpClient& client, const OpenAiConfig& config, client::Cancellation& cancellation) {
  const std::string path = config.url.base + "/models";
  SLUICE_ASSIGN_OR_RETURN(const HttpResponse response, client.get(path, headers_of(config, ""), cancellation));
  const std::string where = "GET " + config.url.authority() + path;
  if (response.status != 200) {
    return failed_precondition(where + " answered " + std::to_string(response.status) +
                               "; name the model with --model");
  }
  const Json list = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  const Json data = list.is_object() ? list.value("data", Json()) : Json();
  if (!data.is_array() || data.empty() || !data[0].is_object() || !data[0].contains("id") ||
      !data[0]["id"].is_string()) {
    return failed_precondition(where + " names no model; name it with --model");
  }
  ServedModel model{.name = data[0]["id"].get<std::string>(),
                    .device = {},
                    .version = {},
                    .context_length = {},
                    .vocab_size = 0,
                    .special_ids = {}};
  const auto length = data[0].find("max_model_len");
  if (length != data[0].end() && length->is_number_integer()) model.context_length = length->get<int32_t>();
  return model;
}

}  // namespace

OpenAiTarget::OpenAiTarget(OpenAiConfig config, std::unique_ptr<HttpClient> client, ServedModel model)
    : config_(std::move(config)), model_(std::move(model)), client_(std::move(client)) {}

Result<std::unique_ptr<Target>> OpenAiTarget::open(OpenAiConfig config, client::Cancellation& cancellation) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<HttpClient> client, HttpClient::create(config.url, config.tls_ca_path));
  ServedModel model;
  model.name = config.model;
  if (config.model.empty()) {
    SLUICE_ASSIGN_OR_RETURN(model, first_model(*client, config, cancellation));
  }
  model.vocab_size = config.vocab_size;
  return std::unique_ptr<Target>(new OpenAiTarget(std::move(config), std::move(client), std::move(model)));
}

PromptForm OpenAiTarget::prompt_form() const {
  if (config_.endpoint == Endpoint::kChat) return PromptForm::kChat;
  return config_.vocab_size > 0 ? PromptForm::kTokens : PromptForm::kText;
}

std::unique_ptr<Call> OpenAiTarget::make_call(Ask ask, AnswerSink& sink) {
  const std::string body = openai_request(ask, config_.endpoint, model_.name);
  std::string path = config_.url.base;
  path += endpoint_path(config_.endpoint);
  return std::make_unique<OpenAiCall>(*client_, client_->request(path, headers_of(config_, ask.tenant), body), sink);
}

}  // namespace sluice::bench
