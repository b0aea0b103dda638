#pragma once

#include <cstdint>

#include "base/clock.h"
#include "scheduler/shortage.h"

namespace sluice::scheduler {

/// What would become of a request that came now.
struct Explanation {
  bool never_fits = false;  ///< not even alone; the rest but the blocks is then without meaning
  bool is_admitted_now = false;
  Shortage shortage = Shortage::kNone;  ///< what it lacks, if it would have to wait or be refused
  int32_t requests_before = 0;          ///< waiting ones that would be served first
  int32_t prompt_tokens = 0;
  int32_t cached_tokens = 0;  ///< of its prompt, in the cache now
  int32_t final_blocks = 0;   ///< at its cap, for one sequence
  int32_t free_blocks = 0;
  int32_t capacity_blocks = 0;
  bool is_timed = false;  ///< enough is known to foretell times; what follows is without meaning otherwise
  Duration start{};       ///< from now to its first slice
  Duration first_token{};
  Duration finish{};  ///< after as many tokens as are to be expected
};

}  // namespace sluice::scheduler
