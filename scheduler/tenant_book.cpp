#include "scheduler/tenant_book.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace sluice::scheduler {

int32_t TenantBook::enter(std::string_view name) {
  const int32_t index = find_or_add(name);
  Tenant& tenant = at(index);
  if (tenant.present == 0) lift(tenant);
  ++tenant.present;
  return index;
}

void TenantBook::leave(int32_t tenant) {
  SLUICE_CHECK(at(tenant).present > 0);
  --at(tenant).present;
}

void TenantBook::lift(Tenant& tenant) const {
  std::optional<double> least;
  for (const Tenant& other : tenants_) {
    if (other.present > 0) least = std::min(least.value_or(other.served), other.served);
  }
  if (least) tenant.served = std::max(tenant.served, *least);
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
      if (tenant->present == 0 && (away == tenants_.end() || tenant->served < away->served)) away = tenant;
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
