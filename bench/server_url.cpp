#include "bench/server_url.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace sluice::bench {
namespace {

constexpr std::string_view kGrpcPrefix = "grpc://";
constexpr std::string_view kHttpPrefix = "http://";
constexpr std::string_view kHttpsPrefix = "https://";

bool is_port(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= 65535;
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

Status bad_url(const std::string& text, std::string_view problem) {
  return invalid_argument("'" + text + "' " + std::string(problem));
}

/// "host", "host:port", "[v6]" or "[v6]:port"; false when it is none.
bool read_authority(std::string_view text, ServerUrl& url) {
  const bool is_v6 = text.starts_with('[');
  const size_t host_end = is_v6 ? text.find(']') : text.find(':');
  if (is_v6 && host_end == std::string_view::npos) return false;
  url.host = is_v6 ? text.substr(1, host_end - 1) : text.substr(0, host_end);
  const std::string_view rest = is_v6                                ? text.substr(host_end + 1)
                                : host_end == std::string_view::npos ? std::string_view()
                                                                     : text.substr(host_end);
  if (url.host.empty()) return false;
  if (rest.empty()) return true;
  url.port = rest.substr(1);
  return rest.front() == ':' && is_port(url.port);
}

Result<ServerUrl> parse_http(const std::string& text, std::string_view rest, ServerUrl::Scheme scheme) {
  const size_t path = rest.find('/');
  ServerUrl url{.scheme = scheme,
                .address = {},
                .host = {},
                .port = scheme == ServerUrl::Scheme::kHttps ? "443" : "80",
                .base = path == std::string_view::npos ? "/" : std::string(rest.substr(path))};
  if (!is_printable(rest) || rest.find_first_of("?#@") != std::string_view::npos) {
    return bad_url(text, "may have no spaces, query, fragment or user");
  }
  if (!read_authority(rest.substr(0, path), url)) return bad_url(text, "is not http://HOST[:PORT][/PATH]");
  while (url.base.ends_with('/')) url.base.pop_back();
  if (url.base.empty()) url.base = "/v1";
  return url;
}

}  // namespace

std::string ServerUrl::authority() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + port;
}

Result<ServerUrl> parse_server_url(const std::string& text) {
  const std::string_view view = text;
  if (view.starts_with(kHttpPrefix)) return parse_http(text, view.substr(kHttpPrefix.size()), ServerUrl::Scheme::kHttp);
  if (view.starts_with(kHttpsPrefix))
    return parse_http(text, view.substr(kHttpsPrefix.size()), ServerUrl::Scheme::kHttps);
  ServerUrl url;
  url.address = view.starts_with(kGrpcPrefix) ? view.substr(kGrpcPrefix.size()) : view;
  if (url.address.empty() || !is_printable(url.address)) return bad_url(text, "is not HOST:PORT or a URL");
  if (url.address.find("://") != std::string::npos)
    return bad_url(text, "has a scheme other than grpc, http and https");
  return url;
}

ServerUrl with_base(ServerUrl url, const std::string& base) {
  url.base = base;
  return url;
}

}  // namespace sluice::bench
