#include "server/grpc_control.h"

#include "server/grpc_answers.h"
#include "server/grpc_simple_call.h"

namespace sluice::server {

grpc::ServerUnaryReactor* GrpcControl::GetLimits(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  const auto work = [](const GrpcFront& front, const auto& /*request*/, auto& limits) {
    describe_limits(front.limits.current(), limits);
    return Status();
  };
  return finish(*context, answer<v1::GetLimitsRequest, v1::Limits>(front_.load(), Right::kControl,
                                                                   {*context, *request, *response}, work));
}

grpc::ServerUnaryReactor* GrpcControl::SetLimits(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  const auto work = [context](const GrpcFront& front, const v1::Limits& wanted, v1::Limits& limits) {
    SLUICE_ASSIGN_OR_RETURN(
        const scheduler::SchedulerConfig now,
        front.limits.change(context->peer(), [&](scheduler::SchedulerConfig& edited) { edit_limits(wanted, edited); }));
    describe_limits(now, limits);
    return Status();
  };
  return finish(*context,
                answer<v1::Limits, v1::Limits>(front_.load(), Right::kControl, {*context, *request, *response}, work));
}

}  // namespace sluice::server
