#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "server/outcome.h"

namespace sluice::server {

/// A request that has ended, however it did.
struct RequestEnd {
  Outcome outcome = Outcome::kStop;
  bool was_accepted = true;                               ///< not so for one that was refused, whatever for
  std::optional<std::string_view> tenant = std::nullopt;  ///< unless the request didn't even tell
  int32_t prompt_tokens = 0;
  int32_t cached_tokens = 0;  ///< of these, found in the prefix cache
  int32_t output_tokens = 0;  ///< of all choices
  int32_t max_tokens = 0;     ///< per choice
  int32_t choices = 1;
  Duration queue{};       ///< from arrival to admission, or to the end of a request that was never admitted
  Duration end_to_end{};  ///< from arrival
};

}  // namespace sluice::server
