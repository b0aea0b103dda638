#include "scheduler/request_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sluice::scheduler {

RequestQueue::Place RequestQueue::place_of(const Request& request) const {
  const uint64_t arrival = request.arrival_number();
  if (begun_.contains(arrival)) return {false, TimePoint(), arrival};
  return {true, request.submission().deadline, arrival};
}

void RequestQueue::push(Request& request) {
  tenants_->begin_waiting(request.tenant());
  put(request);
  ++count_by_tenant_[request.tenant()];
  ++count_by_priority_[request.submission().priority];
  ++unstarted_count_;
  unstarted_prompt_tokens_ += static_cast<int64_t>(request.submission().prompt.size());
}

void RequestQueue::begin(Request& request) {
  take_out(request);
  begun_.insert(request.arrival_number());
  put(request);
}

void RequestQueue::put(Request& request) {
  places_.insert(request.arrival_number());
  classes_[request.submission().priority][request.tenant()].emplace(place_of(request), &request);
}

void RequestQueue::remove(const Request& request) {
  if (take_out(request)) tenants_->end_waiting(request.tenant());
}

/// False when it isn't here.
bool RequestQueue::take_out(const Request& request) {
  if (places_.erase(request.arrival_number()) == 0) return false;
  const int32_t priority = request.submission().priority;
  const auto of_class = classes_.find(priority);
  const auto lane = of_class->second.find(request.tenant());
  lane->second.erase(place_of(request));
  if (lane->second.empty()) of_class->second.erase(lane);
  if (of_class->second.empty()) classes_.erase(of_class);
  if (begun_.erase(request.arrival_number()) > 0) return true;
  const auto forget_one = [](std::map<int32_t, int32_t>& counts, int32_t key) {
    const auto count = counts.find(key);
    if (--count->second == 0) counts.erase(count);
  };
  forget_one(count_by_tenant_, request.tenant());
  forget_one(count_by_priority_, priority);
  --unstarted_count_;
  unstarted_prompt_tokens_ -= static_cast<int64_t>(request.submission().prompt.size());
  return true;
}

void RequestQueue::collect(size_t limit, int32_t running_max, std::vector<Request*>& out) const {
  out.clear();
  for (const auto& [priority, lanes] : classes_) {
    turns_.clear();
    for (const auto& [tenant, lane] : lanes) {
      if (tenants_->is_at_limit(tenant, running_max)) {
        lane.begin()->second->set_shortage(Shortage::kTenant);
      } else {
        turns_.push_back(turn_of(tenant, lane));
      }
    }
    while (!turns_.empty()) {
      if (out.size() == limit) return;
      const auto turn = std::min_element(turns_.begin(), turns_.end(), is_sooner);
      Request* request = turn->next->second;
      out.push_back(request);
      // As it will be once this one is admitted.
      turn->served += static_cast<double>(request->submission().prompt.size());
      if (++turn->next == turn->end) turns_.erase(turn);
    }
  }
}

RequestQueue::Turn RequestQueue::turn_of(int32_t tenant, const Lane& lane) const {
  return {.served = tenants_->served(tenant),
          .has_share = tenants_->has_share(tenant),
          .next = lane.begin(),
          .end = lane.end()};
}

bool RequestQueue::is_sooner(const Turn& a, const Turn& b) {
  const auto key = [](const Turn& turn) {
    return std::tuple(turn.served, turn.has_share, turn.next->second->arrival_number());
  };
  return key(a) < key(b);
}

const Request* RequestQueue::first() const {
  if (classes_.empty()) return nullptr;
  const auto& [priority, lanes] = *classes_.begin();
  Turn soonest = turn_of(lanes.begin()->first, lanes.begin()->second);
  for (const auto& [tenant, lane] : lanes) {
    const Turn turn = turn_of(tenant, lane);
    if (is_sooner(turn, soonest)) soonest = turn;
  }
  return soonest.next->second;
}

WaitingLoad RequestQueue::unstarted(int32_t tenant) const {
  const auto own = count_by_tenant_.find(tenant);
  return {.requests = unstarted_count_,
          .prompt_tokens = unstarted_prompt_tokens_,
          .tenants_requests = own == count_by_tenant_.end() ? 0 : own->second};
}

int32_t RequestQueue::unstarted_before(int32_t priority) const {
  int32_t before = 0;
  for (const auto& [of_class, count] : count_by_priority_) {
    if (of_class <= priority) before += count;
  }
  return before;
}

}  // namespace sluice::scheduler
