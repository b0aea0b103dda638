#pragma once

#include <string>

#include "base/status.h"

namespace sluice::bench {

/// Where a server is and how it speaks.
struct ServerUrl {
  enum class Scheme { kGrpc, kHttp, kHttps };

  Scheme scheme = Scheme::kGrpc;
  std::string address;  ///< gRPC: as gRPC takes it, host:port or unix:PATH
  std::string host;     ///< HTTP: a name or a number; of IPv6 without brackets
  std::string port;     ///< HTTP: a number
  std::string base;     ///< HTTP: what comes before "/completions", without a slash at its end: "/v1"

  /// "host:port", as the Host header has it.
  std::string authority() const;
};

/// Reads `host:port`, `unix:PATH` and `grpc://host:port` (gRPC), `http://host[:port][/base]` and the same with https.
/// The base is /v1 unless the URL has a path. Errors name what is wrong with the text.
Result<ServerUrl> parse_server_url(const std::string& text);

/// The URL without its path and with `path` instead, such as "/metrics".
ServerUrl with_base(ServerUrl url, const std::string& base);

}  // namespace sluice::bench
