#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "server/request_record.h"

namespace sluice::server {

/// A request whose spans are to be told, and how its moments become times of day.
struct TracedRequest {
  RequestRecord record;
  std::chrono::nanoseconds epoch_of_clock{};  ///< Unix time at which the daemon's clock would have read 0
  uint64_t span_seed = 0;                     ///< span ids are drawn from it and the request's id
};

/// Who tells.
struct TraceResource {
  std::string service_name;
  std::string version;
  std::string model;  ///< valid UTF-8
};

/// The body of an OTLP/HTTP export in JSON: a server span for each request, with OpenTelemetry's attributes for
/// generative AI, and in it one each for queue, prefill, decode and delivery, as far as it came.
std::string otlp_json(std::span<const TracedRequest> requests, const TraceResource& resource);

}  // namespace sluice::server
