#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "scheduler/shortage.h"

namespace sluice::scheduler {

/// When a request gets somewhere, from now.
struct RequestTimes {
  Duration start{};  ///< its first slice
  Duration first_token{};
  Duration finish{};  ///< after as many tokens as are to be expected
};

/// What would become of a request that came now.
struct Explanation {
  bool never_fits = false;  ///< not even alone; then nothing but the blocks is told
  bool is_admitted_now = false;
  Shortage shortage = Shortage::kNone;  ///< what it lacks, if it would have to wait or be refused
  int32_t requests_before = 0;          ///< waiting ones that would be served first
  int32_t prompt_tokens = 0;
  int32_t cached_tokens = 0;  ///< of its prompt, in the cache now
  int32_t final_blocks = 0;   ///< at its cap, for one sequence
  int32_t free_blocks = 0;
  int32_t capacity_blocks = 0;
  std::optional<RequestTimes> times = std::nullopt;  ///< nothing until enough is known to foretell them
};

}  // namespace sluice::scheduler
