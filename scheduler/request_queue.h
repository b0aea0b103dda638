#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "scheduler/request.h"
#include "scheduler/tenant_book.h"

namespace sluice::scheduler {

/// Requests of which no sequence was ever admitted.
struct WaitingLoad {
  int32_t requests = 0;
  int64_t prompt_tokens = 0;
  int32_t tenants_requests = 0;  ///< of these, one tenant's
};

/// Requests with sequences that wait for admission, in the order in which they are served: by priority, then the tenant
/// who was served least and, of equals, who has less than his share of rows, then his requests already begun, then his
/// earliest deadline, then arrival. Lends its requests and the book, which it tells who waits.
///
/// Deadlines decide among one tenant's requests only: most clients set one as a matter of course, and who sets the
/// shortest would otherwise pass everyone else. So do beginnings: the 64 sequences of one request are worth 64
/// requests.
class RequestQueue {
 public:
  explicit RequestQueue(TenantBook& tenants) : tenants_(&tenants) {}

  void push(Request& request);
  /// Does nothing when the request isn't here.
  void remove(const Request& request);
  /// The request's first sequence is admitted, others still wait: it goes before its tenant's that have not begun.
  void begin(Request& request);

  bool empty() const { return places_.empty(); }
  /// Somebody is here who would be served no later than one of this priority, begun or not.
  bool has_before(int32_t priority) const { return !classes_.empty() && classes_.begin()->first <= priority; }
  /// The first `limit` requests in the order of service, for what is known now. Tenants with `running_max` sequences
  /// running (0: any number) are left out, or they would hold the others up; the first of their requests is told that
  /// it lacks kTenant. O(limit * tenants that wait).
  void collect(size_t limit, int32_t running_max, std::vector<Request*>& out) const;

  /// The first of them, nullptr if none waits.
  const Request* first() const;

  /// Requests of which no sequence was ever admitted, and the tokens of their prompts.
  int32_t unstarted_count() const { return unstarted_count_; }
  int64_t unstarted_prompt_tokens() const { return unstarted_prompt_tokens_; }
  WaitingLoad unstarted(int32_t tenant) const;
  /// Unstarted requests that would be served no later than one of this priority.
  int32_t unstarted_before(int32_t priority) const;

 private:
  using Place = std::tuple<bool, TimePoint, uint64_t>;  // whether it is still to begin, deadline, arrival number
  using Lane = std::map<Place, Request*>;               // of one tenant
  using PriorityClass = std::map<int32_t, Lane>;        // by tenant

  struct Turn {
    double served;
    bool has_share;  // a newcomer is lifted to those who wait, whose rows are about to be charged: he goes first
    Lane::const_iterator next;
    Lane::const_iterator end;
  };

  Turn turn_of(int32_t tenant, const Lane& lane) const;
  Place place_of(const Request& request) const;
  void put(Request& request);
  bool take_out(const Request& request);
  static bool is_sooner(const Turn& a, const Turn& b);

  TenantBook* tenants_;
  std::map<int32_t, PriorityClass> classes_;
  std::set<uint64_t> places_;  // arrival numbers of all who are here
  std::set<uint64_t> begun_;   // of these, who has begun
  std::map<int32_t, int32_t> count_by_tenant_;
  std::map<int32_t, int32_t> count_by_priority_;
  mutable std::vector<Turn> turns_;  // scratch of collect
  int32_t unstarted_count_ = 0;
  int64_t unstarted_prompt_tokens_ = 0;
};

}  // namespace sluice::scheduler
