#include "server/request_log.h"

#include <array>
#include <cstdio>
#include <string>

namespace sluice::server {
namespace {

std::string in_ms(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", to_milliseconds(duration));
  return text.data();
}

}  // namespace

void RequestLog::note(const RequestRecord& record) {
  const RequestTiming& timing = record.timing;
  logger_.info("request ended", {{"request", std::to_string(record.id.value)},
                                 {"client_request", record.client_id},
                                 {"trace", to_hex(record.trace.trace_id)},
                                 {"tenant", record.tenant},
                                 {"outcome", std::string(outcome_name(record.outcome))},
                                 {"prompt_tokens", std::to_string(record.usage.prompt_tokens)},
                                 {"cached_tokens", std::to_string(record.usage.cached_tokens)},
                                 {"output_tokens", std::to_string(record.usage.completion_tokens)},
                                 {"ttft_ms", in_ms(timing.ttft)},
                                 {"tpot_ms", in_ms(timing.tpot)},
                                 {"queue_ms", in_ms(timing.queue)},
                                 {"prefill_ms", in_ms(timing.prefill)},
                                 {"decode_ms", in_ms(timing.decode)},
                                 {"interference_ms", in_ms(timing.interference)},
                                 {"pause_ms", in_ms(timing.pause)},
                                 {"end_to_end_ms", in_ms(timing.end_to_end(record.ended))},
                                 {"error", record.error}});
}

}  // namespace sluice::server
