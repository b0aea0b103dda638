#include "server/stream_pool.h"

#include <iterator>
#include <utility>

namespace sluice::server {

StreamPool::StreamPool() : worker_([this] { run(); }) {}

StreamPool::~StreamPool() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  worker_.join();
  for (auto& [id, session] : sessions_) session->abandon(unavailable("the daemon is shutting down"));
}

void StreamPool::add(RequestId id, std::unique_ptr<Session> session) {
  const MutexLock lock(mutex_);
  sessions_.emplace(id, std::move(session));
}

void StreamPool::remove(RequestId id) {
  retire(id);
}

void StreamPool::deliver(std::vector<scheduler::TokenEvent> events) {
  if (events.empty()) return;
  {
    const MutexLock lock(mutex_);
    if (queue_.empty()) {
      queue_ = std::move(events);
    } else {
      queue_.insert(queue_.end(), std::make_move_iterator(events.begin()), std::make_move_iterator(events.end()));
    }
  }
  work_.notify_one();
}

size_t StreamPool::session_count() const {
  const MutexLock lock(mutex_);
  return sessions_.size();
}

bool StreamPool::wait_empty_until(TimePoint deadline) {
  const MutexLock lock(mutex_);
  while (!sessions_.empty()) {
    if (empty_.wait_until(mutex_, deadline) == std::cv_status::timeout) return sessions_.empty();
  }
  return true;
}

void StreamPool::run() {
  std::vector<scheduler::TokenEvent> events;
  while (true) {
    {
      const MutexLock lock(mutex_);
      while (queue_.empty() && !stopping_) work_.wait(mutex_);
      if (queue_.empty()) return;
      events.swap(queue_);
    }
    for (scheduler::TokenEvent& event : events) route(std::move(event));
    events.clear();
  }
}

void StreamPool::route(scheduler::TokenEvent event) {
  const RequestId id = event.request;
  Session* session = find(id);
  if (session == nullptr) return;
  session->take(std::move(event));
  if (session->done()) retire(id);
}

Session* StreamPool::find(RequestId id) {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

void StreamPool::retire(RequestId id) {
  std::unique_ptr<Session> session;  // ends outside the lock: it may hold the last reference to its connection
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  session = std::move(found->second);
  sessions_.erase(found);
  if (sessions_.empty()) empty_.notify_all();
}

}  // namespace sluice::server
