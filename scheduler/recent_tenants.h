#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::scheduler {

/// Which tenants the last requests were of. Counted in requests, not in time: who is about stays about while the daemon
/// idles.
class RecentTenants {
 public:
  /// Requests looked back at.
  static constexpr size_t kRequests = 256;

  RecentTenants() { last_.fill(kNobody); }

  /// A request of this tenant, an index from 0, has come.
  void note(int32_t tenant);
  /// How many tenants the last requests were of.
  int32_t count() const { return count_; }

 private:
  static constexpr int32_t kNobody = -1;

  std::array<int32_t, kRequests> last_{};  // a ring of indices
  size_t next_ = 0;                        // its oldest place
  std::vector<int32_t> requests_;          // of each tenant among the last
  int32_t count_ = 0;
};

}  // namespace sluice::scheduler
