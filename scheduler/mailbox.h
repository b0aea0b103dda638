#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "scheduler/command.h"

namespace sluice::scheduler {

/// The way into the loop thread: fronts post, the loop takes everything at once. Thread-safe.
///
/// Submissions are bounded by the room the loop last published, so a full queue refuses at once, even in the middle of
/// a long step. Questions are bounded too: each costs the loop a forecast, and streams wait meanwhile. Everything else
/// is always taken: at most a few per live request, or asked for by an operator.
class Mailbox {
 public:
  static constexpr int32_t kQuestionsMax = 16;  ///< from one tick to the next

  /// `room`: submissions accepted before the loop first publishes; usually max_running + max_queued_requests.
  explicit Mailbox(int64_t room) : room_(room) {}

  /// False when full: the caller answers RESOURCE_EXHAUSTED. Also false once closed(). Never blocks.
  bool try_post(Submission submission);
  /// False when kQuestionsMax wait already, or once closed(). What is taken is answered.
  bool try_post(Explain question);
  /// Anything else.
  void post(Command command);

  /// Loop thread: moves all commands to `out` (cleared first, in posting order; its memory is reused for the next
  /// ones).
  void take(std::vector<Command>& out);
  /// Loop thread: how many submissions may come beyond those taken so far; those posted since the last take() count
  /// against it.
  void publish_room(int64_t room);
  /// Loop thread: blocks until there is a command or the mailbox is closed. False when closed and empty.
  bool wait();

  /// No more submissions and questions; wait() returns false once the rest is taken. Cancel and FailAll may still be
  /// posted.
  void close();
  bool closed() const;

 private:
  mutable Mutex mutex_;
  CondVar not_empty_;
  std::vector<Command> commands_ SLUICE_GUARDED_BY(mutex_);
  int64_t room_ SLUICE_GUARDED_BY(mutex_);
  int64_t posted_count_ SLUICE_GUARDED_BY(mutex_) = 0;    // submissions among commands_
  int32_t question_count_ SLUICE_GUARDED_BY(mutex_) = 0;  // questions among commands_
  bool closed_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::scheduler
