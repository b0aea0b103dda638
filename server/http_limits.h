#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace sluice::server {

/// What one client may cost the listener.
struct HttpLimits {
  uint32_t header_bytes = 16 * 1024;          ///< of a request, its line included; more is answered with 431
  uint64_t body_bytes = 64 * 1024;            ///< of a request; more is answered with 413
  size_t buffered_bytes = size_t{256} << 20;  ///< of all bodies not yet read as JSON, HttpBodyBudget
  /// Open at a time. One more takes the place of the one that has waited longest for a request; it is answered with 503
  /// and closed when none waits.
  size_t connections = 256;
  Duration idle_timeout = std::chrono::seconds(60);     ///< from an answer to the next request's first byte
  Duration request_timeout = std::chrono::seconds(10);  ///< to send a whole request
  Duration write_timeout = std::chrono::seconds(10);    ///< to take 64 KiB of an answer
  Duration stop_grace = std::chrono::seconds(1);        ///< for answers being written when the listener stops
};

}  // namespace sluice::server
