#include "server/grpc_explain_call.h"

#include <utility>

#include "server/grpc_answers.h"
#include "server/grpc_call_terms.h"
#include "server/grpc_codec.h"
#include "server/grpc_message.h"

namespace sluice::server {

grpc::ServerUnaryReactor* GrpcExplainCall::start(const GrpcFront& front, grpc::CallbackServerContext& context,
                                                 const v1::CompleteRequest& request, grpc::ByteBuffer& response) {
  const auto call = std::make_shared<GrpcExplainCall>(front, response);
  call->until_done_ = call;
  front.live_calls.enter();
  const Status status = call->ask(context, request);
  if (!status.ok()) call->Finish(finish_status(context, status));
  return call.get();
}

Status GrpcExplainCall::ask(const grpc::CallbackServerContext& context, const v1::CompleteRequest& request) {
  SLUICE_ASSIGN_OR_RETURN(const CallTerms terms, call_terms(context, front_));
  return front_.intake.explain(request, terms,
                               [call = shared_from_this()](const auto& answer) { call->answer(answer); });
}

void GrpcExplainCall::answer(const Result<scheduler::Explanation>& explanation) {
  if (explanation.ok()) {
    v1::ExplainResponse response;
    describe_explanation(*explanation, response);
    response_ = write_message(response);
  }
  Finish(to_grpc_status(explanation.status()));
}

void GrpcExplainCall::OnDone() {
  front_.live_calls.leave();
  // The last use of this object, if the session has gone already.
  const std::shared_ptr<GrpcExplainCall> last = std::move(until_done_);
}

}  // namespace sluice::server
