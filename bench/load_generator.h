#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "bench/measurements.h"
#include "bench/pacer.h"
#include "bench/target.h"

namespace sluice::bench {

/// What to send, when, and until when; what is in flight then still ends.
struct Phase {
  std::function<Ask(uint64_t index)> make_ask;
  Pacer& pacer;
  std::optional<int64_t> requests;  ///< send this many
  std::optional<TimePoint> end;     ///< send nothing that is meant for this moment or later
  /// For each request that ended, in the order of their ends.
  std::function<void(const RequestOutcome&)> on_outcome;
  /// Several times a second. False ends the phase as stop() would, but not those after it.
  std::function<bool()> on_tick;
};

/// Sends requests when a pacer says so and times their answers. One thread, the caller's, owns all of it and sleeps
/// when there is nothing to do; the target's threads time what comes and report ends.
class LoadGenerator {
 public:
  /// The clock is lent, and steady: it is what the waits go by.
  explicit LoadGenerator(const Clock& clock);
  ~LoadGenerator();
  LoadGenerator(const LoadGenerator&) = delete;
  LoadGenerator& operator=(const LoadGenerator&) = delete;

  /// Runs a phase: returns when everything it sent has ended. All calls of the phase are on the caller's thread.
  /// Requests are numbered through all phases.
  void run(Target& target, Phase& phase);

  /// Any thread, any time: sends no more, now or later, and cancels what is in flight.
  void stop();
  bool stopped() const;

 private:
  class Flight;

  std::optional<TimePoint> next_due(const Phase& phase) const;
  void send_due(Target& target, Phase& phase);
  void send(Target& target, const Phase& phase, TimePoint due);
  void collect(const std::vector<Flight*>& ended, const Phase& phase);
  /// Sleeps until something ended, `until`, or stop; returns what ended.
  std::vector<Flight*> wait(TimePoint until);
  void note_end(Flight* flight);
  void cancel_all();

  const Clock& clock_;
  uint64_t next_index_ = 0;
  int64_t sent_in_phase_ = 0;
  bool all_cancelled_ = false;  // in this phase
  std::vector<std::unique_ptr<Flight>> flights_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Flight*> ended_ SLUICE_GUARDED_BY(mutex_);
  bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::bench
