#include "server/http_url.h"

#include <algorithm>
#include <charconv>

namespace sluice::server {
namespace {

constexpr std::string_view kScheme = "http://";

bool is_port(std::string_view text) {
  int32_t port = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && stop == text.data() + text.size() && port >= 1 && port <= 65535;
}

}  // namespace

Result<HttpUrl> parse_http_url(std::string_view field, std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return invalid_field(std::string(field), "must be http://host:port/path" + std::string(why));
  };
  if (text.starts_with("https://")) return wrong("; for TLS, send to a collector on this machine that does it");
  if (!text.starts_with(kScheme)) return wrong("");
  const bool is_printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
  if (text.find('#') != std::string_view::npos) return wrong(", without a fragment");
  if (!is_printable) return wrong(", without blanks or other characters that are not ASCII");
  const std::string_view rest = text.substr(kScheme.size());
  const size_t path = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view place = rest.substr(0, path);
  HttpUrl url;
  if (path < rest.size()) url.path = (rest[path] == '?' ? "/" : "") + std::string(rest.substr(path));
  if (place.find('@') != std::string_view::npos) return wrong(", without a user");
  const size_t bracket = place.starts_with('[') ? place.find(']') : std::string_view::npos;
  const size_t colon = place.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    if (!is_port(place.substr(colon + 1))) return wrong(", with a port from 1 to 65535");
    url.port = place.substr(colon + 1);
    place = place.substr(0, colon);
  }
  if (bracket != std::string_view::npos) {
    if (bracket + 1 != place.size()) return wrong("");
    place = place.substr(1, bracket - 1);
  }
  if (place.empty() || place.find_first_of("[]#") != std::string_view::npos) return wrong("");
  url.host = place;
  return url;
}

}  // namespace sluice::server
