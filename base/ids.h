#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace sluice {

/// What a client asked, for the life of the daemon. Never reused.
struct RequestId {
  uint64_t value = 0;
  friend auto operator<=>(const RequestId&, const RequestId&) = default;
};

}  // namespace sluice

template <>
struct std::hash<sluice::RequestId> {
  size_t operator()(const sluice::RequestId& id) const noexcept { return std::hash<uint64_t>()(id.value); }
};
