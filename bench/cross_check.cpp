#include "bench/cross_check.h"

#include <array>
#include <cmath>
#include <utility>

namespace sluice::bench {
namespace {

constexpr double kToleranceMs = 5;
constexpr std::string_view kTtft = "sluice_time_to_first_token_seconds";
constexpr std::string_view kTpot = "sluice_time_per_output_token_seconds";
constexpr std::string_view kItl = "sluice_inter_token_latency_seconds";

void compare(std::string_view family, const std::string& name, const std::string& before, const std::string& after,
             const LatencyHistogram& client, ServerView& view) {
  constexpr std::array<std::pair<const char*, double>, 2> kShares{{{" p50", 0.50}, {" p99", 0.99}}};
  const ServerHistogram server = ServerHistogram::parse(after, family).since(ServerHistogram::parse(before, family));
  for (const auto& [suffix, share] : kShares) {
    const std::optional<ServerHistogram::Quantile> quantile = server.quantile(share);
    if (!quantile || client.count() == 0) continue;
    view.comparisons.push_back({.name = name + suffix,
                                .client_ms = to_milliseconds(client.percentile(share)),
                                .server_ms = 1000 * quantile->seconds,
                                .tolerance_ms = kToleranceMs + 1000 * quantile->bucket_width});
  }
  if (family == kTtft) view.server_answers = server.count();
}

}  // namespace

bool Comparison::agrees() const {
  return std::abs(client_ms - server_ms) <= tolerance_ms;
}

ServerView compare_with_server(const std::string& before, const std::string& after, const Report& report) {
  ServerView view;
  compare(kTtft, "TTFT", before, after, report.ttft_from_send, view);
  compare(kTpot, "TPOT", before, after, report.tpot, view);
  compare(kItl, "ITL", before, after, report.itl, view);
  if (view.comparisons.empty()) view.problem = "the server's metrics hold nothing of this time";
  return view;
}

CrossCheck::CrossCheck(std::unique_ptr<HttpClient> client, std::string path, client::Cancellation& cancellation)
    : client_(std::move(client)),
      path_(std::move(path)),
      cancellation_(cancellation),
      before_(unavailable("not read yet")) {}

Result<std::unique_ptr<CrossCheck>> CrossCheck::open(const std::string& url, const TargetConfig& target,
                                                     client::Cancellation& cancellation) {
  SLUICE_ASSIGN_OR_RETURN(ServerUrl where, parse_server_url(url.empty() ? target.address : url));
  if (where.scheme == ServerUrl::Scheme::kGrpc) {
    if (url.empty()) return std::unique_ptr<CrossCheck>();
    return invalid_argument("--metrics: '" + url + "' is not http://HOST:PORT/metrics");
  }
  const std::string path = url.empty() ? "/metrics" : where.base;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<HttpClient> client, HttpClient::create(where, target.tls_ca_path));
  std::unique_ptr<CrossCheck> check(new CrossCheck(std::move(client), path, cancellation));
  const Result<std::string> text = check->read();
  const bool is_sluice = text.ok() && text->find(kTtft) != std::string::npos;
  if (is_sluice) return check;
  if (url.empty()) return std::unique_ptr<CrossCheck>();
  if (!text.ok()) return text.status().with_context("--metrics");
  return failed_precondition("--metrics: " + url + " tells no " + std::string(kTtft));
}

Result<std::string> CrossCheck::read() {
  SLUICE_ASSIGN_OR_RETURN(HttpResponse response, client_->get(path_, {}, cancellation_));
  if (response.status == 200) return std::move(response.body);
  return unavailable(path_ + " answered " + std::to_string(response.status));
}

void CrossCheck::begin() {
  before_ = read();
}

ServerView CrossCheck::end(const Report& report) {
  const Result<std::string> after = read();
  if (before_.ok() && after.ok()) return compare_with_server(*before_, *after, report);
  ServerView view;
  view.problem = (before_.ok() ? after : before_).status().message();
  return view;
}

}  // namespace sluice::bench
