#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "bench/measurements.h"
#include "bench/pacer.h"
#include "bench/target.h"
#include "bench/workload.h"

namespace sluice::bench {

/// What to send, when, and until when; what is in flight then still ends.
struct Phase {
  const Workload& workload;
  Pacer& pacer;
  std::optional<int64_t> requests;  ///< send this many, of first and later turns together
  uint64_t numbers_align = 1;    ///< the first conversation's number is a multiple of this, as for a workload in rounds
  std::optional<TimePoint> end;  ///< send nothing that is meant for this moment or later
  bool has_turns = false;        ///< conversations go on after their first answer, `think` after it
  Duration think{};
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
  /// Conversations are numbered through all phases.
  void run(Target& target, Phase& phase);

  /// Any thread, any time: sends no more, now or later, and cancels what is in flight.
  void stop();
  bool stopped() const;

 private:
  class Flight;
  /// A later turn that waits for its moment.
  struct Turn {
    TimePoint due;
    uint64_t conversation;
    int32_t turn;
    Ask ask;
    friend bool operator>(const Turn& a, const Turn& b) { return a.due > b.due; }
  };
  using Turns = std::priority_queue<Turn, std::vector<Turn>, std::greater<>>;

  bool may_send(const Phase& phase) const;
  /// Of a new conversation, or of a later turn.
  std::optional<TimePoint> next_begin(const Phase& phase) const;
  std::optional<TimePoint> next_turn(const Phase& phase) const;
  std::optional<TimePoint> next_due(const Phase& phase) const;
  void send_due(Target& target, Phase& phase);
  void send(Target& target, Turn turn, bool keeps_content);
  void collect(const std::vector<Flight*>& ended, Phase& phase);
  /// Queues the next turn; false when the conversation is over.
  bool go_on(const Flight& flight, const Phase& phase);
  /// Sleeps until something ended, `until`, or stop; returns what ended.
  std::vector<Flight*> wait(TimePoint until);
  void note_end(Flight* flight);
  void cancel_all();

  const Clock& clock_;
  uint64_t next_conversation_ = 0;
  int64_t sent_in_phase_ = 0;
  bool all_cancelled_ = false;  // in this phase
  std::vector<std::unique_ptr<Flight>> flights_;
  Turns turns_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Flight*> ended_ SLUICE_GUARDED_BY(mutex_);
  bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::bench
