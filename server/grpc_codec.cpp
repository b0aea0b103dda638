#include "server/grpc_codec.h"

#include <string>

#include "base/check.h"

namespace sluice::server {

namespace {

grpc::StatusCode to_grpc_code(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return grpc::StatusCode::OK;
    case StatusCode::kCancelled:
      return grpc::StatusCode::CANCELLED;
    case StatusCode::kInvalidArgument:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case StatusCode::kDeadlineExceeded:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case StatusCode::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case StatusCode::kResourceExhausted:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case StatusCode::kFailedPrecondition:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case StatusCode::kUnauthenticated:
      return grpc::StatusCode::UNAUTHENTICATED;
    case StatusCode::kPermissionDenied:
      return grpc::StatusCode::PERMISSION_DENIED;
    case StatusCode::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    case StatusCode::kInternal:
      return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::UNKNOWN;
}

v1::FinishReason to_wire(scheduler::FinishReason reason) {
  switch (reason) {
    case scheduler::FinishReason::kStop:
      return v1::FINISH_REASON_STOP;
    case scheduler::FinishReason::kLength:
      return v1::FINISH_REASON_LENGTH;
    case scheduler::FinishReason::kCancelled:
      return v1::FINISH_REASON_CANCELLED;
  }
  return v1::FINISH_REASON_UNSPECIFIED;
}

void fill_usage(v1::Usage& wire, const Usage& usage) {
  wire.set_prompt_tokens(usage.prompt_tokens);
  wire.set_completion_tokens(usage.completion_tokens);
  wire.set_cached_tokens(usage.cached_tokens);
}

void fill_ledger(v1::Ledger& wire, const RequestTiming& timing, TimePoint now) {
  wire.set_queue_ms(to_milliseconds(timing.queue));
  wire.set_prefill_ms(to_milliseconds(timing.prefill));
  wire.set_decode_ms(to_milliseconds(timing.decode));
  wire.set_interference_ms(to_milliseconds(timing.interference));
  wire.set_pause_ms(to_milliseconds(timing.pause));
  wire.set_delivery_ms(to_milliseconds(timing.delivery(now)));
  wire.set_end_to_end_ms(to_milliseconds(timing.end_to_end(now)));
  wire.set_ttft_ms(to_milliseconds(timing.ttft));
  wire.set_tpot_ms(to_milliseconds(timing.tpot));
}

enum class TokenBytes { kWithLogprobs, kAlways };

void fill_token(v1::Token& wire, const TokenReport& token, const engine::Tokenizer& tokenizer, TokenBytes bytes) {
  wire.set_id(token.id);
  if (token.logprob) wire.set_logprob(*token.logprob);
  if (token.logprob || bytes == TokenBytes::kAlways) wire.set_bytes(std::string(tokenizer.token_bytes(token.id)));
  for (const engine::TokenLogprob& alternative : token.top) {
    v1::TokenAlternative& top = *wire.add_top();
    top.set_id(alternative.token);
    top.set_logprob(alternative.logprob);
    top.set_bytes(std::string(tokenizer.token_bytes(alternative.token)));
  }
}

void fill_prompt_info(v1::PromptInfo& wire, const RequestOpened& opened, const ServedModel& model) {
  wire.set_request_id(std::to_string(opened.id.value));
  wire.set_model(model.name);
  wire.set_prompt_tokens(opened.prompt_tokens);
}

/// Finished and Choice end alike.
template <typename Wire>
void fill_end(Wire& wire, const ChoiceEnd& end) {
  wire.set_index(end.choice);
  wire.set_reason(to_wire(end.reason));
  if (end.stop) wire.set_stop(*end.stop);
  if (end.stop_token_id) wire.set_stop_token_id(*end.stop_token_id);
}

template <typename Wire>
void fill_totals(Wire& wire, const Totals& totals, TimePoint now) {
  fill_usage(*wire.mutable_usage(), totals.usage);
  fill_ledger(*wire.mutable_ledger(), totals.timing, now);
}

/// A request that was accepted had room: RESOURCE_EXHAUSTED then is about its reader, and comes again unless a time to
/// wait is given.
bool is_retryable(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.retry_after_ms() > 0;
}

/// Makes one wire event of one plain one.
struct EventWriter {
  const WireContext& context;
  v1::CompleteEvent& wire;

  void operator()(const RequestOpened& opened) const {
    fill_prompt_info(*wire.mutable_prompt_info(), opened, context.model);
  }

  void operator()(const RequestDenied& /*denied*/) const { SLUICE_CHECK(false); }

  void operator()(const PromptEcho& echo) const {
    v1::PromptTokens& tokens = *wire.mutable_prompt_tokens();
    tokens.set_first_position(echo.first_position);
    for (const TokenReport& token : echo.tokens) {
      fill_token(*tokens.add_tokens(), token, *context.model.tokenizer, TokenBytes::kAlways);
    }
  }

  void operator()(const ChoiceText& piece) const {
    v1::Tokens& tokens = *wire.mutable_tokens();
    tokens.set_index(piece.choice);
    tokens.set_text(piece.text);
    for (const TokenReport& token : piece.tokens) {
      fill_token(*tokens.add_tokens(), token, *context.model.tokenizer, TokenBytes::kWithLogprobs);
    }
  }

  void operator()(const ChoiceEnd& end) const {
    v1::Finished& finished = *wire.mutable_finished();
    fill_end(finished, end);
    if (end.totals) fill_totals(finished, *end.totals, context.now);
  }

  void operator()(const RequestError& error) const {
    v1::Error& wire_error = *wire.mutable_error();
    wire_error.set_code(to_grpc_code(error.status.code()));
    wire_error.set_message(error.status.message());
    wire_error.set_retryable(is_retryable(error.status));
    wire_error.set_retry_after_ms(error.status.retry_after_ms());
    fill_totals(wire_error, error.totals, context.now);
  }
};

}  // namespace

grpc::Status to_grpc_status(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {to_grpc_code(status.code()), status.message()};
}

grpc::Status finish_status(grpc::ServerContextBase& context, const Status& status) {
  if (status.retry_after_ms() > 0) {
    context.AddTrailingMetadata("retry-after-ms", std::to_string(status.retry_after_ms()));
  }
  return to_grpc_status(status);
}

TimePoint monotonic_deadline(std::chrono::system_clock::time_point deadline,
                             std::chrono::system_clock::time_point wall_now, TimePoint now) {
  // Far enough away to be none, and the sum below can't overflow.
  constexpr auto kFar = std::chrono::hours(24 * 365);
  if (deadline == std::chrono::system_clock::time_point::max() || deadline - wall_now > kFar) return TimePoint::max();
  return now + std::chrono::duration_cast<Duration>(deadline - wall_now);
}

v1::CompleteEvent to_wire(const CompletionEvent& event, const WireContext& context) {
  v1::CompleteEvent wire;
  std::visit(EventWriter{context, wire}, event);
  return wire;
}

v1::CompleteResponse to_wire(const Completion& completion, const WireContext& context) {
  v1::CompleteResponse wire;
  const engine::Tokenizer& tokenizer = *context.model.tokenizer;
  fill_prompt_info(*wire.mutable_prompt_info(), completion.opened, context.model);
  for (const TokenReport& token : completion.prompt_tokens) {
    fill_token(*wire.add_prompt_tokens(), token, tokenizer, TokenBytes::kAlways);
  }
  for (const CollectedChoice& choice : completion.choices) {
    v1::Choice& to = *wire.add_choices();
    fill_end(to, choice.end);
    to.set_text(choice.text);
    for (const TokenReport& token : choice.tokens) {
      fill_token(*to.add_tokens(), token, tokenizer, TokenBytes::kWithLogprobs);
    }
  }
  fill_totals(wire, completion.totals, context.now);
  return wire;
}

}  // namespace sluice::server
