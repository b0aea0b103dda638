#include "scheduler/tenant_book.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::scheduler {

int32_t TenantBook::enter(std::string_view name) {
  const int32_t index = find_or_add(name);
  ++at(index).present;
  return index;
}

void TenantBook::leave(int32_t tenant) {
  SLUICE_CHECK(at(tenant).present > 0);
  --at(tenant).present;
}

void TenantBook::begin_waiting(int32_t tenant) {
  Tenant& own = at(tenant);
  if (own.waiting == 0) own.served = std::max(own.served, level());
  ++own.waiting;
  recent_.note(tenant);
}

void TenantBook::end_waiting(int32_t tenant) {
  SLUICE_CHECK(at(tenant).waiting > 0);
  if (--at(tenant).waiting == 0) waited_last_ = tenant;
}

std::optional<int32_t> TenantBook::share() const {
  if (recent_.count() < 2) return std::nullopt;
  return std::max(1, rows_ / recent_.count());
}

bool TenantBook::has_share(int32_t tenant) const {
  const std::optional<int32_t> rows = share();
  return rows && running(tenant) >= *rows;
}

/// The smallest counter of those who wait, or of who waited last.
double TenantBook::level() const {
  std::optional<double> least;
  for (const Tenant& tenant : tenants_) {
    if (tenant.waiting > 0) least = std::min(least.value_or(tenant.served), tenant.served);
  }
  if (least) return *least;
  return waited_last_ ? served(*waited_last_) : 0;
}

int32_t TenantBook::find_or_add(std::string_view name) {
  const auto [entry, is_new] = by_name_.try_emplace(std::string(name), 0);
  if (!is_new) return entry->second;
  const int32_t place = place_for_one_more();
  entry->second = place;
  at(place) = {.name = std::string(name)};
  return place;
}

int32_t TenantBook::place_for_one_more() {
  if (static_cast<int32_t>(tenants_.size()) >= kTenantsMax) {
    auto away = tenants_.end();
    for (auto tenant = tenants_.begin(); tenant != tenants_.end(); ++tenant) {
      if (tenant->present > 0 || tenant - tenants_.begin() == waited_last_) continue;
      if (away == tenants_.end() || tenant->served < away->served) away = tenant;
    }
    if (away != tenants_.end()) {
      by_name_.erase(away->name);
      return static_cast<int32_t>(away - tenants_.begin());
    }
  }
  tenants_.emplace_back();
  return static_cast<int32_t>(tenants_.size()) - 1;
}

}  // namespace sluice::scheduler
