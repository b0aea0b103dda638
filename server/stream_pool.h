#pragma once

#include <cstddef>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "scheduler/token_event.h"
#include "server/session.h"

namespace sluice::server {

/// Takes events off the loop thread and hands each to its request's session, on one thread of its own. The loop pays
/// one lock and at most one wakeup a tick, whatever the number of streams.
class StreamPool final : public scheduler::EventSink {
 public:
  StreamPool();
  /// The loop has ended. Hands out what is queued, then abandons the sessions that are left with UNAVAILABLE.
  ~StreamPool() override;
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;

  /// Before the request is posted, so that its first event finds it.
  void add(RequestId id, std::unique_ptr<Session> session);
  /// Only for a request that was added and then not taken by the mailbox.
  void remove(RequestId id);
  /// Loop thread.
  void deliver(std::vector<scheduler::TokenEvent> events) override;

  /// Requests that the loop has not finished with. Any thread.
  size_t session_count() const;
  /// Blocks until there is no session, or until `deadline` of the steady clock; true when there is none.
  bool wait_empty_until(TimePoint deadline);

 private:
  void run();
  void route(scheduler::TokenEvent event);
  Session* find(RequestId id);
  void retire(RequestId id);

  mutable Mutex mutex_;
  CondVar work_;
  CondVar empty_;
  std::vector<scheduler::TokenEvent> queue_ SLUICE_GUARDED_BY(mutex_);
  /// A session stays where it is until the worker retires it, so the worker uses it without the lock.
  std::unordered_map<RequestId, std::unique_ptr<Session>> sessions_ SLUICE_GUARDED_BY(mutex_);
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::thread worker_;
};

}  // namespace sluice::server
