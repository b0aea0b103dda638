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

/// The request of a completion; one that can't be read counts as an invalid one.
Result<v1::CompleteRequest> read_request(const GrpcFront* front, const grpc::ByteBuffer& bytes) {
  if (front == nullptr) return loading_status();
  v1::CompleteRequest request;
  const Status status = read_message(bytes, request);
  if (!status.ok()) return front->intake.refuse(Outcome::kInvalid, status);
  return request;
}

/// The same of a conversation, with the prompt that the template makes of it, for a caller who may have one made.
Result<v1::CompleteRequest> read_chat(const GrpcFront* front, const grpc::ServerContextBase& context,
                                      const grpc::ByteBuffer& bytes) {
  if (front == nullptr) return loading_status();
  const auto read = [&]() -> Result<v1::CompleteRequest> {
    SLUICE_RETURN_IF_ERROR(check_right(Right::kInference, *front, context));
    v1::ChatRequest request;
    SLUICE_RETURN_IF_ERROR(read_message(bytes, request));
    return to_complete_request(std::move(request), front->chat_prompter);
  };
  Result<v1::CompleteRequest> request = read();
  if (!request.ok()) return front->intake.refuse(Outcome::kInvalid, request.status());
  return request;
}

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* GrpcService::StreamComplete(grpc::CallbackServerContext* context,
                                                                        const grpc::ByteBuffer* request) {
  const GrpcFront* front = front_.load();
  const Result<v1::CompleteRequest> read = read_request(front, *request);
  if (!read.ok()) return new RefusedStream(read.status());
  return GrpcStreamCall::start(*front, *context, *read);
}

grpc::ServerUnaryReactor* GrpcService::Complete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  const GrpcFront* front = front_.load();
  const Result<v1::CompleteRequest> read = read_request(front, *request);
  if (!read.ok()) return finish(*context, read.status());
  return GrpcUnaryCall::start(*front, *context, *read, *response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* GrpcService::StreamChat(grpc::CallbackServerContext* context,
                                                                    const grpc::ByteBuffer* request) {
  const GrpcFront* front = front_.load();
  const Result<v1::CompleteRequest> read = read_chat(front, *context, *request);
  if (!read.ok()) return new RefusedStream(read.status());
  return GrpcStreamCall::start(*front, *context, *read);
}

grpc::ServerUnaryReactor* GrpcService::Chat(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  const GrpcFront* front = front_.load();
  const Result<v1::CompleteRequest> read = read_chat(front, *context, *request);
  if (!read.ok()) return finish(*context, read.status());
  return GrpcUnaryCall::start(*front, *context, *read, *response);
}

grpc::ServerUnaryReactor* GrpcService::Explain(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  const GrpcFront* front = front_.load();
  const Result<v1::CompleteRequest> read = read_request(front, *request);
  if (!read.ok()) return finish(*context, read.status());
  return GrpcExplainCall::start(*front, *context, *read, *response);
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
