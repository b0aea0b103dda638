#include "server/live_page.h"

#include <array>
#include <charconv>
#include <utility>

#include <sodium.h>

#include "server/page_text.h"

namespace sluice::server {
namespace {

constexpr std::string_view kStylePlace = "/*STYLE*/";
constexpr std::string_view kScriptPlace = "/*SCRIPT*/";

void fill(std::string& page, std::string_view place, std::string_view text) {
  const size_t at = page.find(place);
  SLUICE_CHECK(at != std::string::npos);
  page.replace(at, place.size(), text);
}

/// How a policy names an inline element: by the digest of its text.
std::string hash_source(std::string_view text) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
  std::array<char, sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES, sodium_base64_VARIANT_ORIGINAL)> base64{};
  sodium_bin2base64(base64.data(), base64.size(), digest.data(), digest.size(), sodium_base64_VARIANT_ORIGINAL);
  return "'sha256-" + std::string(base64.data()) + "'";
}

HttpResponse page_response() {
  return {.status = 200,
          .content_type = "text/html; charset=utf-8",
          .body = whole_page(),
          .headers = {{"Content-Security-Policy", page_policy()},
                      {"X-Content-Type-Options", "nosniff"},
                      {"X-Frame-Options", "DENY"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}}};
}

HttpResponse with_safe_headers(HttpResponse response) {
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

}  // namespace

std::string whole_page() {
  std::string page(page_html());
  fill(page, kStylePlace, page_style());
  fill(page, kScriptPlace, page_script());
  return page;
}

std::string page_policy() {
  return "default-src 'none'; script-src " + hash_source(page_script()) + "; style-src " + hash_source(page_style()) +
         "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

Result<uint64_t> since_in(std::string_view query) {
  constexpr std::string_view kName = "since=";
  while (!query.empty()) {
    const std::string_view member = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), member.size() + 1));
    if (member.substr(0, kName.size()) != kName) continue;
    const std::string_view text = member.substr(kName.size());
    uint64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && stop == text.data() + text.size()) return number;
    return invalid_field("since", "must be a whole number, of the last step that is known already");
  }
  return uint64_t{0};
}

LivePage::LivePage(const Clock& clock, std::string version, std::function<Readiness()> readiness)
    : clock_(clock), began_(clock.now()), version_(std::move(version)), readiness_(std::move(readiness)) {}

std::vector<HttpRoute> LivePage::routes() const {
  const HttpHandler page = [response = page_response()](const HttpRequest& /*request*/) { return response; };
  const HttpHandler live = [this](const HttpRequest& request) { return with_safe_headers(answer(request)); };
  return {{"GET", "/", page}, {"GET", "/live", live}};
}

HttpResponse LivePage::answer(const HttpRequest& request) const {
  const Result<uint64_t> since = since_in(request.query);
  if (!since.ok()) return http_error(since.status());
  const LiveMoment moment{.now = clock_.now(), .began = began_, .readiness = readiness_()};
  if (const LiveFront* const front = front_.load(); front != nullptr)
    return json_response(live_status(*front, moment, *since));
  return json_response({{"state", state_name(moment.readiness, HealthState::kHealthy)}, {"version", version_}});
}

}  // namespace sluice::server
