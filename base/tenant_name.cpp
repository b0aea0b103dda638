#include "base/tenant_name.h"

#include <algorithm>
#include <utility>

namespace sluice {

Status check_tenant_name(std::string field, std::string_view name) {
  const bool is_printable = std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (is_printable && name.size() <= kTenantNameBytesMax) return {};
  return invalid_field(std::move(field),
                       "must be at most " + std::to_string(kTenantNameBytesMax) + " bytes of printable ASCII");
}

}  // namespace sluice
