#include "scheduler/request_forecast.h"

#include <algorithm>
#include <chrono>

namespace sluice::scheduler {

std::optional<RequestTimes> foretell(const RequestForecastView& view) {
  StepLoad prefill = view.running;
  prefill.prefill_tokens = view.prompt_tokens;
  const int64_t keys = view.growth.keys_seen(view.cached_tokens + (view.prompt_tokens + 1) / 2);
  prefill.prefill_pairs = view.prompt_tokens * keys;
  // In chunks, each of which waits for the rows that decode.
  const int32_t chunks = (view.prompt_tokens - 1) / std::max(1, view.tokens_per_step - view.running.decode_rows) + 1;
  if (!view.step_time.reaches(prefill.prefill_pairs / chunks)) return std::nullopt;

  const Duration step = std::max(view.step_time.predict(view.running), Duration(1));
  RequestTimes times;
  times.start = step * view.steps_to_start + view.wait_for_others;
  times.first_token = times.start + view.step_time.predict(prefill) + step * (chunks - 1);
  times.finish = times.first_token;
  if (!view.lengths.is_known()) return times;
  StepLoad decode = view.running;
  decode.decode_rows += 1;
  const double more_tokens = std::max(0.0, view.lengths.mean_left(0, view.max_new_tokens) - 1);
  const std::chrono::duration<double> rest(to_seconds(view.step_time.predict(decode)) * more_tokens);
  times.finish += std::chrono::duration_cast<Duration>(rest);
  return times;
}

}  // namespace sluice::scheduler
