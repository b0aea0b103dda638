#pragma once

#include <cstddef>

#include "base/status.h"
#include "server/grpc_front.h"
#include "server/served_model.h"
#include "sluice/v1/control.pb.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::server {

// What the small calls answer. Thread-safe; errors are INVALID_ARGUMENT that begin with the field.

/// Most bytes of text in one Tokenize, and most tokens in one Detokenize: the answer must stay in proportion to a
/// message.
inline constexpr size_t kTokenizeBytesMax = 1 << 20;
inline constexpr size_t kDetokenizeTokensMax = 1 << 20;

Status tokenize(const ServedModel& model, const v1::TokenizeRequest& request, v1::TokenizeResponse& response);
Status detokenize(const ServedModel& model, const v1::DetokenizeRequest& request, v1::DetokenizeResponse& response);
void describe_model(const ServedModel& model, v1::GetModelResponse& response);
void describe_load(const GrpcFront& front, v1::GetLoadResponse& response);
void describe_explanation(const scheduler::Explanation& explanation, v1::ExplainResponse& response);
void describe_limits(const scheduler::SchedulerConfig& limits, v1::Limits& response);
/// Changes those limits that the request sets.
void edit_limits(const v1::Limits& request, scheduler::SchedulerConfig& limits);

}  // namespace sluice::server
