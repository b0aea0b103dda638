#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice {

inline constexpr size_t kTenantNameBytesMax = 128;

/// Whether this can be a tenant's name: at most kTenantNameBytesMax bytes of printable ASCII, as it travels in
/// metadata; empty is a name too. INVALID_ARGUMENT that begins with `field`, which says where it stands.
Status check_tenant_name(std::string field, std::string_view name);

}  // namespace sluice
