#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "bench/measurements.h"
#include "bench/slo.h"
#include "bench/trial.h"

namespace sluice::bench {

/// How full the daemon is at one moment, in shares of its KV blocks.
struct Fullness {
  double kv_used = 0;
  double kv_reserved = 0;
  int32_t running = 0;  ///< sequences
};

/// Makes a trial of the ends of requests. Pure: the times are those of the outcomes. Not thread-safe.
///
/// A trial has settled when as many requests have ended as were sent at once: who comes later has seen a full batch
/// from its beginning. From there on batches of equally many ends are timed: with a closed loop a batch is a whole
/// number of turns, so that what repeats with every turn is in all of them alike.
class TrialRecorder {
 public:
  TrialRecorder(const Slo& slo, int64_t settle_count, int64_t batch_size, TimePoint begin)
      : slo_(slo), settle_count_(settle_count), batch_size_(batch_size), begin_(begin), last_(begin) {}

  /// The load begins at this moment, not when this was made: there was a warm-up.
  void begin(TimePoint now) { begin_ = last_ = now; }

  /// In the order of their ends.
  void add(const RequestOutcome& outcome);
  /// While the trial runs; counts once it has settled.
  void add(const Fullness& fullness);

  const std::vector<TrialBatch>& batches() const { return trial_.batches; }
  /// Something ended, and nothing well: the load itself is at fault, not the setting.
  bool nothing_works() const { return ended_ >= settle_count_ && ended_ == failed_; }
  /// What is in whole batches.
  Trial trial() const;

 private:
  bool looks_hopeless() const;
  void settle(const RequestOutcome& outcome);
  bool breaks_from_the_beginning() const;
  void count(const RequestOutcome& outcome);
  void close_batch();

  const Slo slo_;
  const int64_t settle_count_;
  const int64_t batch_size_;
  TimePoint begin_;
  TimePoint last_;  // the latest end
  TimePoint batch_begin_;
  bool has_settled_ = false;
  std::vector<RequestOutcome> early_;  // before that
  int64_t ended_ = 0;                  // all, from the beginning
  int64_t failed_ = 0;
  Trial trial_;    // of whole batches
  Trial pending_;  // of the batch that is being filled
  TrialBatch batch_;
  std::vector<double> slips_ms_;
  std::vector<Fullness> fullness_;
};

}  // namespace sluice::bench
