#include "bench/grpc_target.h"

#include <utility>

namespace sluice::bench {
namespace {

ServedModel served_model(const v1::GetModelResponse& response) {
  ServedModel model{.name = response.name(),
                    .device = response.device(),
                    .version = response.version(),
                    .context_length = response.context_length(),
                    .vocab_size = response.vocab_size(),
                    .special_ids = {response.end_ids().begin(), response.end_ids().end()}};
  if (response.has_bos_id()) model.special_ids.push_back(response.bos_id());
  return model;
}

v1::CompleteRequest request_of(const Ask& ask) {
  v1::CompleteRequest request;
  if (const auto* const ids = std::get_if<Ask::Tokens>(&ask.prompt)) {
    request.mutable_token_ids()->mutable_ids()->Assign(ids->begin(), ids->end());
  } else if (const auto* const text = std::get_if<Ask::Text>(&ask.prompt)) {
    request.set_text(*text);
  }
  request.mutable_sampling()->set_temperature(ask.temperature);
  v1::StoppingOptions& stopping = *request.mutable_stopping();
  stopping.set_max_tokens(ask.output_tokens);
  stopping.set_ignore_eos(ask.ignores_end_tokens);
  stopping.mutable_stop_token_ids()->Assign(ask.stop_token_ids.begin(), ask.stop_token_ids.end());
  return request;
}

void tell(const v1::CompleteEvent& event, bool keeps_ids, AnswerSink& sink) {
  // Text that was held back may come without a token of its own; it doesn't count.
  if (event.has_tokens() && event.tokens().tokens_size() > 0) {
    const v1::Tokens& tokens = event.tokens();
    Piece piece{.tokens = tokens.tokens_size(), .text = tokens.text(), .ids = {}};
    if (keeps_ids) {
      for (const v1::Token& token : tokens.tokens()) piece.ids.push_back(token.id());
    }
    sink.on_piece(piece);
  }
  if (event.has_finished() && event.finished().has_usage()) {
    sink.on_usage(event.finished().usage().prompt_tokens(), event.finished().usage().completion_tokens());
  }
}

std::optional<Failure> failure_of(const Status& status) {
  if (status.ok()) return std::nullopt;
  return Failure{.status = status, .kind = std::string(status_code_name(status.code()))};
}

class GrpcCall final : public Call {
 public:
  GrpcCall(client::InferenceClient& client, const Ask& ask, AnswerSink& sink)
      : call_(client.make_stream(request_of(ask),
                                 {.on_event = [&sink, keeps_ids = ask.keeps_ids](
                                                  const v1::CompleteEvent& event) { tell(event, keeps_ids, sink); },
                                  .on_done = [&sink](const Status& status) { sink.on_end(failure_of(status)); }},
                                 ask.tenant)) {}

  void start() override { call_->start(); }
  void cancel() override { call_->cancel(); }

 private:
  const std::unique_ptr<client::StreamCall> call_;
};

}  // namespace

GrpcTarget::GrpcTarget(std::unique_ptr<client::InferenceClient> client, ServedModel model)
    : client_(std::move(client)), model_(std::move(model)) {}

Result<std::unique_ptr<Target>> GrpcTarget::open(const std::string& address, const client::Identity& identity,
                                                 client::Cancellation& cancellation) {
  auto client = std::make_unique<client::InferenceClient>(address, identity);
  SLUICE_ASSIGN_OR_RETURN(const v1::GetModelResponse response, client->get_model({.cancellation = &cancellation}));
  return std::unique_ptr<Target>(new GrpcTarget(std::move(client), served_model(response)));
}

std::unique_ptr<Call> GrpcTarget::make_call(Ask ask, AnswerSink& sink) {
  return std::make_unique<GrpcCall>(*client_, ask, sink);
}

}  // namespace sluice::bench
