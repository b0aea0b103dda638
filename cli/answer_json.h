#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "client/stream_stopwatch.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::cli {

/// "stop", "length", "cancelled", or "none" while the choice goes on.
std::string_view finish_reason_name(v1::FinishReason reason);

/// Completion tokens over the time from start to last event; 0 when no time has passed.
double tokens_per_second(const client::StreamTiming& timing);

/// One JSON object: `request_id`, `model`, choice 0's `text`, `token_ids`, `logprobs` (null unless asked for, or else a
/// list of `id`, `logprob`, `bytes` and `top`), `finish_reason` and `stop`; `usage`; `timing` (milliseconds by the
/// client's clock, and under `server` the daemon's ledger); `prompt_tokens` if the daemon echoed them; `choices` with
/// all choices if there are several; `error` when `status` is one.
std::string answer_to_json(const v1::CompleteResponse& answer, const client::StreamTiming& timing,
                           const Status& status);

/// What a request that was not accepted gets: one JSON object with only the `error`: `code`, `message`, and
/// `retry_after_ms` if the daemon named a time.
std::string refusal_to_json(const Status& status);

}  // namespace sluice::cli
