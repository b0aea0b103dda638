#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "kvcache/block_growth.h"
#include "scheduler/explanation.h"
#include "scheduler/output_lengths.h"
#include "scheduler/step_prices.h"
#include "scheduler/step_time_model.h"

namespace sluice::scheduler {

/// What a request's times are foretold from. Everything is lent.
struct RequestForecastView {
  const StepTimeModel& step_time;
  const OutputLengths& lengths;
  kvcache::BlockGrowth growth;  ///< of tables
  StepLoad running;             ///< of a step with those who run now, all decoding
  int32_t steps_to_start = 0;   ///< until there is room
  Duration wait_for_others{};   ///< then, until those before it have started
  int32_t tokens_per_step = 1;  ///< prefill + decode
  int32_t cached_tokens = 0;    ///< of its prompt; at least one token is left
  int32_t prompt_tokens = 1;    ///< of it, to compute
  int32_t max_new_tokens = 0;
};

/// Nothing as long as too little is known of steps like those that it takes. Without finished answers `finish` is the
/// first token: their caps, which most don't reach, say nothing.
std::optional<RequestTimes> foretell(const RequestForecastView& view);

}  // namespace sluice::scheduler
