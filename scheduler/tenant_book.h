#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/recent_tenants.h"

namespace sluice::scheduler {

/// Fair shares among tenants by virtual token counters (Sheng et al. 2024): each tenant's counter grows with the
/// tokens computed for him, and the one with the smallest is served next. When the first of his requests begins to wait
/// he is lifted to the smallest counter of those who wait, or, if nobody does, to that of who waited last. So nobody
/// saves up, not even with a stream that he keeps running, and what somebody was served while nobody else waited is no
/// debt.
class TenantBook {
 public:
  /// Tenants remembered; beyond, those who are away are forgotten, first those served least.
  static constexpr int32_t kTenantsMax = 4096;

  /// A request of this tenant has come; his index until his last request has ended.
  int32_t enter(std::string_view name);
  /// A request of the tenant has ended.
  void leave(int32_t tenant);
  /// One of his requests begins to wait for its turn.
  void begin_waiting(int32_t tenant);
  /// It has been served, or has ended.
  void end_waiting(int32_t tenant);

  void charge_prompt(int32_t tenant, int32_t tokens) { at(tenant).served += tokens; }
  /// Output tokens cost more: each is a step's row of its own.
  void charge_output(int32_t tenant, int32_t tokens) { at(tenant).served += kOutputWeight * tokens; }
  double served(int32_t tenant) const { return tenants_[static_cast<size_t>(tenant)].served; }

  void note_running(int32_t tenant, int32_t change) { at(tenant).running += change; }
  /// Admitted sequences.
  int32_t running(int32_t tenant) const { return tenants_[static_cast<size_t>(tenant)].running; }
  /// He has as many of them as one tenant may have; 0: any number.
  bool is_at_limit(int32_t tenant, int32_t running_max) const {
    return running_max > 0 && running(tenant) >= running_max;
  }
  /// How many sequences may run at all; what shares are of.
  void set_rows(int32_t rows) { rows_ = rows; }
  /// The rows that each of those would have who have sent something lately; at least one. Nothing when that is one
  /// tenant or none.
  std::optional<int32_t> share() const;
  /// He has at least that many.
  bool has_share(int32_t tenant) const;
  /// Requests that have not ended.
  int32_t present(int32_t tenant) const { return tenants_[static_cast<size_t>(tenant)].present; }
  std::string_view name(int32_t tenant) const { return tenants_[static_cast<size_t>(tenant)].name; }

 private:
  static constexpr double kOutputWeight = 2;

  struct Tenant {
    std::string name;
    double served = 0;
    int32_t present = 0;
    int32_t waiting = 0;
    int32_t running = 0;
  };
  Tenant& at(int32_t tenant) { return tenants_[static_cast<size_t>(tenant)]; }
  int32_t find_or_add(std::string_view name);
  int32_t place_for_one_more();
  double level() const;

  std::vector<Tenant> tenants_;
  std::unordered_map<std::string, int32_t> by_name_;
  RecentTenants recent_;
  int32_t rows_ = 0;
  std::optional<int32_t> waited_last_;  // the tenant whose last waiting request was the last of all; not forgotten
};

}  // namespace sluice::scheduler
