#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "bench/statistics.h"

namespace sluice::bench {

/// The limits of the daemon that are searched.
struct LimitSetting {
  int32_t max_running = 1;
  int32_t tokens_per_step = 1;
  double tpot_target_ms = 0;  ///< 0: none

  friend auto operator<=>(const LimitSetting&, const LimitSetting&) = default;
};

/// "32 running, 512 tokens/step, TPOT target 40 ms".
std::string describe(const LimitSetting& setting);

/// Requests that ended one after another, and the time from the end before the first of them to the last one's end.
struct TrialBatch {
  int64_t ended = 0;  ///< errors too
  int64_t whole = 0;  ///< answers
  int64_t good = 0;   ///< whole answers within the whole SLO
  int64_t good_tokens = 0;
  double seconds = 0;
};

/// What a setting did under load, from the moment it had settled, in whole batches.
struct Trial {
  std::vector<TrialBatch> batches;
  double settle_s = 0;    ///< until as many requests had ended as were sent at once
  double measured_s = 0;  ///< from there to the end of the last batch
  int64_t requests = 0;   ///< that ended then, errors included
  int64_t errors = 0;
  int64_t output_tokens = 0;
  int64_t ttft_kept = 0;         ///< answers within the SLO's TTFT; all if it has none
  int64_t tpot_kept = 0;         ///< the same for TPOT
  std::vector<double> ttft_ms;   ///< one per answer
  std::vector<double> tpot_ms;   ///< one per answer with two tokens or more
  double kv_used_share = 0;      ///< of the blocks, mean; 0 when nobody could be asked
  double kv_used_share_max = 0;  ///< the most that was seen
  double kv_reserved_share = 0;  ///< what all that were admitted have at their caps, mean
  double running_mean = 0;       ///< sequences admitted
  double slip_p99_ms = 0;        ///< by how much the client itself was late
  std::string first_error;       ///< empty: none
  std::string client_limit;      ///< not empty: the client was the limit, and why

  int64_t answers() const { return requests - errors; }
  double tokens_per_second() const { return measured_s > 0 ? static_cast<double>(output_tokens) / measured_s : 0; }
};

/// Several trials of one setting as one: samples together, means by the time they were taken over.
Trial merged(const std::vector<Trial>& trials);

/// Good requests per second, from batches: the ratio of the sums, its error by the residuals of the batches (the delta
/// method). Requests are whole, so no batch is taken to be known better than by half a request.
Estimate goodput_of(const std::vector<TrialBatch>& batches);
/// The same of all whole answers, good or not.
Estimate throughput_of(const std::vector<TrialBatch>& batches);

/// When a trial may end: at the latest after so long, and earlier as soon as enough is known.
struct TrialLength {
  Duration time_max{};
  std::function<bool(const std::vector<TrialBatch>&)> is_decided;  ///< asked after every batch
};

/// Runs a trial. What fails is not the daemon's refusal of a request but that the daemon cannot be asked or changed;
/// kCancelled after an interrupt.
using RunTrial = std::function<Result<Trial>(const LimitSetting&, const TrialLength&)>;

}  // namespace sluice::bench
