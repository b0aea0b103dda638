#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::server {

/// What a key's requests may ask for.
struct KeyLimits {
  int32_t requests = 0;     ///< that have not ended, at a time; 0: any number
  int32_t max_tokens = 0;   ///< of one choice; 0: as many as the context has room for
  int32_t priority = -100;  ///< the lowest, so the most urgent, that a request may have
};

/// SHA-256 of a key.
using KeyDigest = std::array<unsigned char, 32>;

struct ApiKey {
  KeyDigest digest{};
  std::string tenant;          ///< for whom its requests are
  bool names_tenants = false;  ///< `tenant` is "*": its requests say for whom they are
  bool is_admin = false;       ///< may call sluice.v1.Control
  KeyLimits limits;
};

KeyDigest digest_of(std::string_view key);

/// The keys of a file: one a line, "#" begins a comment,
///
///     KEY TENANT [requests=N] [max_tokens=N] [priority=N] [admin]
///
/// KEY is the key itself, 16 to 256 bytes of printable ASCII without blanks, or `sha256:` and the 64 hexadecimal digits
/// of its SHA-256. TENANT is up to 128 bytes without blanks; `*` lets each request name its tenant. INVALID_ARGUMENT
/// names `file`, the line and what is wrong with it, and never the key; so does a file without any key.
Result<std::vector<ApiKey>> parse_api_keys(std::string_view text, const std::string& file);

}  // namespace sluice::server
