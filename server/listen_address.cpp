#include "server/listen_address.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace sluice::server {
namespace {

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

// The scope of a link-local address ("fe80::1%eth0") is an interface name.
bool is_ipv6_character(char c) {
  return is_host_character(c) || c == ':' || c == '%';
}

bool is_host(std::string_view host, bool bracketed) {
  if (host.empty()) return false;
  if (!bracketed) return std::all_of(host.begin(), host.end(), is_host_character);
  return host.find(':') != std::string_view::npos && std::all_of(host.begin(), host.end(), is_ipv6_character);
}

}  // namespace

std::string ListenAddress::text() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool ListenAddress::is_loopback() const {
  const bool is_ipv4 = std::ranges::all_of(host, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  return host == "localhost" || host == "::1" || (is_ipv4 && host.starts_with("127."));
}

Result<ListenAddress> parse_listen_address(std::string_view text, std::string_view key) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return invalid_field(std::string(key), "must be host:port, for example 127.0.0.1:8080");
  std::string_view host = text.substr(0, colon);
  if (host.empty())
    return invalid_field(std::string(key), "has no host before the port; 0.0.0.0 stands for all interfaces");
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != std::string_view::npos)
    return invalid_field(std::string(key), "must have its IPv6 address in brackets, for example [::1]:8080");
  if (!is_host(host, bracketed)) return invalid_field(std::string(key), "has a host that is no name and no address");
  const std::optional<uint16_t> port = parse_port(text.substr(colon + 1));
  if (!port) return invalid_field(std::string(key), "must end in a port from 0 to 65535; 0 picks a free one");
  return ListenAddress{std::string(host), *port};
}

Status cannot_listen(const ListenAddress& address, const ListenOption& option, std::string_view why) {
  return failed_precondition("can't listen on " + address.text() + ": " + std::string(why) + "; choose another with " +
                             std::string(option.flag) + " or " + std::string(option.key) + ", port 0 picks a free one");
}

}  // namespace sluice::server
