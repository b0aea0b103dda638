#include "scheduler/recent_tenants.h"

#include <utility>

namespace sluice::scheduler {

void RecentTenants::note(int32_t tenant) {
  const auto index = static_cast<size_t>(tenant);
  if (index >= requests_.size()) requests_.resize(index + 1);
  if (requests_[index]++ == 0) ++count_;
  const int32_t oldest = std::exchange(last_[next_], tenant);
  next_ = (next_ + 1) % kRequests;
  if (oldest != kNobody && --requests_[static_cast<size_t>(oldest)] == 0) --count_;
}

}  // namespace sluice::scheduler
