#include "scheduler/request_queue.h"

#include <algorithm>
#include <utility>

namespace sluice::scheduler {

RequestQueue::Place RequestQueue::place_of(const Request& request) {
  return {request.submission().deadline, request.arrival_number()};
}

void RequestQueue::push(Request& request) {
  places_.insert(request.arrival_number());
  classes_[request.submission().priority][request.tenant()].emplace(place_of(request), &request);
  ++count_by_tenant_[request.tenant()];
  ++count_by_priority_[request.submission().priority];
  ++unstarted_count_;
  unstarted_prompt_tokens_ += static_cast<int64_t>(request.submission().prompt.size());
}

void RequestQueue::begin(Request& request) {
  remove(request);
  places_.insert(request.arrival_number());
  begun_.emplace(request.arrival_number(), &request);
}

void RequestQueue::remove(const Request& request) {
  if (places_.erase(request.arrival_number()) == 0) return;
  if (begun_.erase(request.arrival_number()) > 0) return;
  const int32_t priority = request.submission().priority;
  const auto of_class = classes_.find(priority);
  const auto lane = of_class->second.find(request.tenant());
  lane->second.erase(place_of(request));
  if (lane->second.empty()) of_class->second.erase(lane);
  if (of_class->second.empty()) classes_.erase(of_class);
  const auto forget_one = [](std::map<int32_t, int32_t>& counts, int32_t key) {
    const auto count = counts.find(key);
    if (--count->second == 0) counts.erase(count);
  };
  forget_one(count_by_tenant_, request.tenant());
  forget_one(count_by_priority_, priority);
  --unstarted_count_;
  unstarted_prompt_tokens_ -= static_cast<int64_t>(request.submission().prompt.size());
}

void RequestQueue::collect(size_t limit, std::vector<Request*>& out) const {
  out.clear();
  for (const auto& [arrival, request] : begun_) {
    if (out.size() == limit) return;
    out.push_back(request);
  }
  for (const auto& [priority, lanes] : classes_) {
    turns_.clear();
    for (const auto& [tenant, lane] : lanes) turns_.push_back({tenants_->served(tenant), lane.begin(), lane.end()});
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

bool RequestQueue::is_sooner(const Turn& a, const Turn& b) {
  return std::pair(a.served, a.next->second->arrival_number()) < std::pair(b.served, b.next->second->arrival_number());
}

const Request* RequestQueue::first() const {
  if (!begun_.empty()) return begun_.begin()->second;
  if (classes_.empty()) return nullptr;
  const auto& [priority, lanes] = *classes_.begin();
  Turn soonest{tenants_->served(lanes.begin()->first), lanes.begin()->second.begin(), lanes.begin()->second.end()};
  for (const auto& [tenant, lane] : lanes) {
    const Turn turn{tenants_->served(tenant), lane.begin(), lane.end()};
    if (is_sooner(turn, soonest)) soonest = turn;
  }
  return soonest.next->second;
}

int32_t RequestQueue::unstarted_count(int32_t tenant) const {
  const auto count = count_by_tenant_.find(tenant);
  return count == count_by_tenant_.end() ? 0 : count->second;
}

int32_t RequestQueue::unstarted_before(int32_t priority) const {
  int32_t before = 0;
  for (const auto& [of_class, count] : count_by_priority_) {
    if (of_class <= priority) before += count;
  }
  return before;
}

}  // namespace sluice::scheduler
