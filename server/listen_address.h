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
  /// "localhost", 127.x.y.z or ::1. Names are not looked up.
  bool is_loopback() const;
  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

/// Reads "host:port" or "[ipv6]:port". INVALID_ARGUMENT with `key` as its field when the text is neither.
Result<ListenAddress> parse_listen_address(std::string_view text, std::string_view key);

/// What sets where a listener binds.
struct ListenOption {
  std::string_view flag;
  std::string_view key;
};
inline constexpr ListenOption kGrpcListen{"--grpc-listen", "server.grpc_listen"};
inline constexpr ListenOption kHttpListen{"--http-listen", "server.http_listen"};
inline constexpr ListenOption kAdminListen{"--admin-listen", "server.admin_listen"};

/// FAILED_PRECONDITION that says where, why, and what to set to get on.
Status cannot_listen(const ListenAddress& address, const ListenOption& option, std::string_view why);

}  // namespace sluice::server
