#include "server/grpc_service.h"

#include "server/grpc_answers.h"
#include "server/grpc_codec.h"
#include "server/grpc_stream_call.h"
#include "server/grpc_unary_call.h"

namespace sluice::server {

namespace {

Status loading_status() {
  return unavailable("the model is still being loaded; try again soon");
}

/// A stream that is refused before there is anything to serve it with.
class RefusedStream final : public grpc::ServerWriteReactor<v1::CompleteEvent> {
 public:
  explicit RefusedStream(const Status& status) { Finish(to_grpc_status(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

template <typename Work>
grpc::ServerUnaryReactor* GrpcService::answer(grpc::CallbackServerContext& context, Work work) const {
  const GrpcFront* front = front_.load();
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(to_grpc_status(front == nullptr ? loading_status() : work(*front)));
  return reactor;
}

grpc::ServerWriteReactor<v1::CompleteEvent>* GrpcService::StreamComplete(grpc::CallbackServerContext* context,
                                                                         const v1::CompleteRequest* request) {
  const GrpcFront* front = front_.load();
  if (front == nullptr) return new RefusedStream(loading_status());
  return GrpcStreamCall::start(*front, *context, *request);
}

grpc::ServerUnaryReactor* GrpcService::Complete(grpc::CallbackServerContext* context,
                                                const v1::CompleteRequest* request, v1::CompleteResponse* response) {
  const GrpcFront* front = front_.load();
  if (front != nullptr) return GrpcUnaryCall::start(*front, *context, *request, *response);
  return answer(*context, [](const GrpcFront&) { return Status(); });
}

grpc::ServerUnaryReactor* GrpcService::Tokenize(grpc::CallbackServerContext* context,
                                                const v1::TokenizeRequest* request, v1::TokenizeResponse* response) {
  return answer(*context, [&](const GrpcFront& front) { return tokenize(front.intake.model(), *request, *response); });
}

grpc::ServerUnaryReactor* GrpcService::Detokenize(grpc::CallbackServerContext* context,
                                                  const v1::DetokenizeRequest* request,
                                                  v1::DetokenizeResponse* response) {
  return answer(*context,
                [&](const GrpcFront& front) { return detokenize(front.intake.model(), *request, *response); });
}

grpc::ServerUnaryReactor* GrpcService::GetModel(grpc::CallbackServerContext* context,
                                                const v1::GetModelRequest* /*request*/,
                                                v1::GetModelResponse* response) {
  return answer(*context, [&](const GrpcFront& front) {
    describe_model(front.intake.model(), *response);
    return Status();
  });
}

grpc::ServerUnaryReactor* GrpcService::GetLoad(grpc::CallbackServerContext* context,
                                               const v1::GetLoadRequest* /*request*/, v1::GetLoadResponse* response) {
  return answer(*context, [&](const GrpcFront& front) {
    describe_load(front, *response);
    return Status();
  });
}

}  // namespace sluice::server
