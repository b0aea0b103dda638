#pragma once

#include <cstdint>
#include <map>

#include "scheduler/request.h"

namespace sluice::scheduler {

/// Requests with sequences that wait for admission, in order of arrival. Only the oldest can have started. Lends its
/// requests.
class RequestQueue {
 public:
  void push(Request& request) { by_arrival_.emplace(request.arrival_number(), &request); }
  /// Does nothing when the request isn't here.
  void remove(const Request& request) { by_arrival_.erase(request.arrival_number()); }

  bool empty() const { return by_arrival_.empty(); }
  Request& oldest() const { return *by_arrival_.begin()->second; }
  Request& newest() const { return *by_arrival_.rbegin()->second; }
  /// Requests of which no sequence was ever admitted.
  int32_t unstarted_count() const;

 private:
  std::map<uint64_t, Request*> by_arrival_;
};

inline int32_t RequestQueue::unstarted_count() const {
  const bool oldest_has_started = !empty() && oldest().has_started();
  return static_cast<int32_t>(by_arrival_.size()) - (oldest_has_started ? 1 : 0);
}

}  // namespace sluice::scheduler
