#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::server {

/// Where a listener binds.
struct ListenAddress {
  std::string host;   ///< name, IPv4 address, or IPv6 address without brackets; never empty
  uint16_t port = 0;  ///< 0: the system picks a free one

  /// "127.0.0.1:8080", "[::1]:8080".
  std::string text() const;
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

/// Reads "host:port" or "[ipv6]:port". INVALID_ARGUMENT with `key` as its field when the text is neither.
Result<ListenAddress> parse_listen_address(std::string_view text, std::string_view key);

}  // namespace sluice::server
