#include "server/grpc_service.h"

#include <utility>

#include "server/grpc_answers.h"
#include "server/grpc_chat.h"
#include "server/grpc_codec.h"
#include "server/grpc_explain_call.h"
#include "server/grpc_message.h"
#include "server/grpc_simple_call.h"
#include "server/grpc_stream_call.h"
#include "server/grpc_unary_call.h"

namespace sluice::server {

namespace {

/// A stream that is refused before there is a call to keep.
class RefusedStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const Status& status) { Finish(to_grpc_status(status)); }
  void OnDone() override { delete this; }
};

/// The message of somebody who may send one; what can't be read counts as an invalid request.
template <typename Request>
Result<Request> read(const GrpcFront* front, const grpc::ServerContextBase& context, const grpc::ByteBuffer& bytes) {
  if (front == nullptr) return loading_status();
  Request request;
  Status status = check_right(Right::kInference, *front, context);
  if (status.ok()) status = read_message(bytes, request);
  if (!status.ok()) return front->intake.refuse(Outcome::kInvalid, status);
  return request;
}

/// A conversation with the prompt that the template makes of it.
Result<v1::CompleteRequest> read_chat(const GrpcFront* front, const grpc::ServerContextBase& context,
                                      const grpc::ByteBuffer& bytes) {
  SLUICE_ASSIGN_OR_RETURN(v1::ChatRequest chat, read<v1::ChatRequest>(front, context, bytes));
  Result<v1::CompleteRequest> request = to_complete_request(std::move(chat), front->chat_prompter);
  if (!request.ok()) return front->intake.refuse(Outcome::kInvalid, request.status());
  return request;
}

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* GrpcService::StreamComplete(grpc::CallbackServerContext* context,
                                                                        const grpc::ByteBuffer* request) {
  const GrpcFront* front = front_.load();
  const auto read_request = read<v1::CompleteRequest>(front, *context, *request);
  if (!read_request.ok()) return new RefusedStream(read_request.status());
  return GrpcStreamCall::start(*front, *context, *read_request, AskKind::kCompletion);
}

grpc::ServerUnaryReactor* GrpcService::Complete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  const GrpcFront* front = front_.load();
  const auto read_request = read<v1::CompleteRequest>(front, *context, *request);
  if (!read_request.ok()) return finish(*context, read_request.status());
  return GrpcUnaryCall::start(*front, *context, *read_request, AskKind::kCompletion, *response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* GrpcService::StreamChat(grpc::CallbackServerContext* context,
                                                                    const grpc::ByteBuffer* request) {
  const GrpcFront* front = front_.load();
  const Result<v1::CompleteRequest> chat = read_chat(front, *context, *request);
  if (!chat.ok()) return new RefusedStream(chat.status());
  return GrpcStreamCall::start(*front, *context, *chat, AskKind::kChat);
}

grpc::ServerUnaryReactor* GrpcService::Chat(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  const GrpcFront* front = front_.load();
  const Result<v1::CompleteRequest> chat = read_chat(front, *context, *request);
  if (!chat.ok()) return finish(*context, chat.status());
  return GrpcUnaryCall::start(*front, *context, *chat, AskKind::kChat, *response);
}

grpc::ServerUnaryReactor* GrpcService::Explain(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  const GrpcFront* front = front_.load();
  const auto read_request = read<v1::CompleteRequest>(front, *context, *request);
  if (!read_request.ok()) return finish(*context, read_request.status());
  return GrpcExplainCall::start(*front, *context, *read_request, *response);
}

grpc::ServerUnaryReactor* GrpcService::Tokenize(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  const auto work = [](const GrpcFront& front, const auto& text, auto& ids) {
    return tokenize(front.intake.model(), text, ids);
  };
  return finish(*context, answer<v1::TokenizeRequest, v1::TokenizeResponse>(front_.load(), Right::kInference,
                                                                            {*context, *request, *response}, work));
}

grpc::ServerUnaryReactor* GrpcService::Detokenize(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  const auto work = [](const GrpcFront& front, const auto& ids, auto& text) {
    return detokenize(front.intake.model(), ids, text);
  };
  return finish(*context, answer<v1::DetokenizeRequest, v1::DetokenizeResponse>(front_.load(), Right::kInference,
                                                                                {*context, *request, *response}, work));
}

grpc::ServerUnaryReactor* GrpcService::GetModel(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  const auto work = [](const GrpcFront& front, const auto& /*request*/, auto& model) {
    describe_model(front.intake.model(), model);
    return Status();
  };
  return finish(*context, answer<v1::GetModelRequest, v1::GetModelResponse>(front_.load(), Right::kInference,
                                                                            {*context, *request, *response}, work));
}

grpc::ServerUnaryReactor* GrpcService::GetLoad(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  const auto work = [](const GrpcFront& front, const auto& /*request*/, auto& load) {
    describe_load(front, load);
    return Status();
  };
  return finish(*context, answer<v1::GetLoadRequest, v1::GetLoadResponse>(front_.load(), Right::kInference,
                                                                          {*context, *request, *response}, work));
}

}  // namespace sluice::server
