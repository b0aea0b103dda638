#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/http_client.h"
#include "bench/openai_request.h"
#include "bench/server_url.h"
#include "bench/target.h"

namespace sluice::bench {

struct OpenAiConfig {
  ServerUrl url;
  Endpoint endpoint = Endpoint::kCompletions;
  std::string model;  ///< empty: the first that GET /models names
  std::string api_key;
  std::string tls_ca_path;
  int32_t vocab_size = 0;  ///< above 0: prompts are ids below it
};

/// A server that speaks OpenAI's HTTP API: this daemon, vLLM, llama.cpp and many others.
class OpenAiTarget final : public Target {
 public:
  /// Finds out the model's name if it isn't given. The cancellation is lent, and ends that.
  static Result<std::unique_ptr<Target>> open(OpenAiConfig config, client::Cancellation& cancellation);

  const ServedModel& model() const override { return model_; }
  PromptForm prompt_form() const override;
  bool is_read_by_one_thread() const override { return true; }
  std::unique_ptr<Call> make_call(Ask ask, AnswerSink& sink) override;

 private:
  OpenAiTarget(OpenAiConfig config, std::unique_ptr<HttpClient> client, ServedModel model);

  const OpenAiConfig config_;
  const ServedModel model_;
  const std::unique_ptr<HttpClient> client_;
};

}  // namespace sluice::bench
