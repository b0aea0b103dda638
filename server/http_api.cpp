#include "server/http_api.h"

#include <string>
#include <utility>

#include "server/http_call_terms.h"
#include "server/http_completion.h"
#include "server/http_text.h"
#include "server/openapi_text.h"

namespace sluice::server {
namespace {

constexpr std::string_view kModels = "/v1/models";

HttpResponse loading_answer() {
  return http_error(unavailable("the model is still being loaded; try again soon"));
}

using TextCall = Result<Json> (*)(const ServedModel& model, const Json& body);

HttpResponse answer_text_call(const HttpFront& front, HttpExchange& exchange, TextCall call) {
  const Result<Json> body = parse_json(exchange.request().body);
  exchange.drop_body();
  if (!body.ok()) return http_error(body.status());
  const Result<Json> answer = call(front.intake.model(), *body);
  return answer.ok() ? json_response(*answer) : http_error(answer.status());
}

HttpResponse model_answer(const HttpFront& front, const HttpRequest& request) {
  const ServedModel& model = front.intake.model();
  if (names_model(std::string_view(request.path).substr(kModels.size() + 1), model))
    return json_response(model_json(model, front.started));
  return http_error(not_found("this model is not served here, \"" + model.name + "\" is").with_field("model"));
}

}  // namespace

std::vector<HttpRoute> HttpApi::routes() {
  const auto completion = [this](AskKind kind) {
    return [this, kind](const HttpFront& front, const std::shared_ptr<HttpExchange>& exchange) {
      serve_completion(front, workers_, exchange, kind);
    };
  };
  const auto text_call = [](TextCall call) {
    return [call](const HttpFront& front, const std::shared_ptr<HttpExchange>& exchange) {
      exchange->answer(answer_text_call(front, *exchange, call));
    };
  };
  const auto models = [](const HttpFront& front, const HttpRequest& /*request*/) {
    return json_response(models_json(front.intake.model(), front.started));
  };
  const HttpHandler description = [](const HttpRequest& /*request*/) {
    return HttpResponse{
        .status = 200, .content_type = "application/json", .body = std::string(openapi_text()), .headers = {}};
  };
  return {later("/v1/completions", completion(AskKind::kCompletion)),
          later("/v1/chat/completions", completion(AskKind::kChat)),
          later("/tokenize", text_call(tokenize_json)),
          later("/detokenize", text_call(detokenize_json)),
          at_once(std::string(kModels), models),
          at_once(std::string(kModels) + '/', model_answer),
          {"GET", "/openapi.json", description}};
}

HttpGate HttpApi::gate() const {
  return [this](const HttpRequest& head) {
    const HttpFront* const front = front_.load();
    if (front == nullptr) return Status();  // its handler says so
    return front->intake.access().admit(credentials_of(head)).status();
  };
}

HttpRoute HttpApi::later(std::string path, Work work) {
  const HttpLaterHandler handler = [this, work = std::move(work)](const std::shared_ptr<HttpExchange>& exchange) {
    const HttpFront* const front = front_.load();
    if (front == nullptr) return exchange->answer(loading_answer());
    front->live_calls.enter();
    exchange->when_closed([front](HttpEnd) { front->live_calls.leave(); });
    workers_.post(exchange->request().body.size(), [front, work, exchange] {
      if (!exchange->is_closed()) work(*front, exchange);
    });
  };
  return {"POST", std::move(path), handler, gate()};
}

HttpRoute HttpApi::at_once(std::string path, Answer answer) const {
  const HttpHandler handler = [this, answer = std::move(answer)](const HttpRequest& request) {
    const HttpFront* const front = front_.load();
    return front == nullptr ? loading_answer() : answer(*front, request);
  };
  return {"GET", std::move(path), handler, gate()};
}

}  // namespace sluice::server
