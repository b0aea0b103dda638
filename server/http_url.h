#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::server {

/// An address to send to over plain HTTP.
struct HttpUrl {
  std::string host;  ///< a name or an address; IPv6 without its brackets
  std::string port = "80";
  std::string path = "/";  ///< with its query

  /// What the Host header says.
  std::string authority() const { return (host.find(':') == std::string::npos ? host : '[' + host + ']') + ':' + port; }
};

/// "http://host[:port][/path]". Nothing else: the error's field is `field`.
Result<HttpUrl> parse_http_url(std::string_view field, std::string_view text);

}  // namespace sluice::server
