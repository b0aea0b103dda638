#pragma once

#include <memory>
#include <string>

#include "bench/target.h"
#include "client/inference_client.h"

namespace sluice::bench {

/// A Sluice daemon over gRPC.
class GrpcTarget final : public Target {
 public:
  /// Asks what is served; the cancellation is lent, and ends that.
  static Result<std::unique_ptr<Target>> open(const std::string& address, const client::Identity& identity,
                                              client::Cancellation& cancellation);

  const ServedModel& model() const override { return model_; }
  PromptForm prompt_form() const override { return PromptForm::kTokens; }
  bool is_read_by_one_thread() const override { return false; }
  std::unique_ptr<Call> make_call(Ask ask, AnswerSink& sink) override;

 private:
  GrpcTarget(std::unique_ptr<client::InferenceClient> client, ServedModel model);

  const std::unique_ptr<client::InferenceClient> client_;
  const ServedModel model_;
};

}  // namespace sluice::bench
