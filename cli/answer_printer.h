#pragma once

#include <ostream>

#include "client/stream_stopwatch.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::cli {

/// Writes one choice's text while it comes, flushed at every event; the prompt before it, if the daemon echoes it.
/// Nothing but the text.
void print_event(std::ostream& out, const v1::CompleteEvent& event);

/// All choices of a finished answer, "[0] text" and a newline for each.
void print_choices(std::ostream& out, const v1::CompleteResponse& answer);

/// "12 tokens, length, TTFT 35.1 ms, TPOT 12.0 ms, 71.4 tokens/s", on a line of its own. Tokens per second are over the
/// whole time.
void print_summary(std::ostream& err, const v1::CompleteResponse& answer, const client::StreamTiming& timing);

}  // namespace sluice::cli
