#include "bench/compare_rounds.h"

#include <algorithm>

#include "bench/html_report.h"

namespace sluice::bench {
namespace {

/// Why no figure of these rounds may be taken for the server's; empty: none.
std::string objection(const Contender& contender, const std::vector<Report>& rounds) {
  for (const Report& round : rounds) {
    if (!round.client.limited_because.empty()) {
      return "the client was the limit beside " + contender.name + ": " + round.client.limited_because;
    }
    if (round.errors > 0) return std::to_string(round.errors) + " requests to " + contender.name + " failed";
  }
  return {};
}

std::string verdict_of(const Comparison& comparison, const std::string& base, const std::string& other) {
  const RatioEstimate& ratio = comparison.ratio;
  if (ratio.pairs < 2) return "no verdict: too few rounds";
  if (ratio.interval.low <= 1 && ratio.interval.high >= 1) return "no difference beyond chance";
  const bool is_better = (ratio.ratio > 1) == comparison.is_more_better;
  return (is_better ? other : base) + " is better";
}

}  // namespace

Result<Contender> parse_contender(const std::string& text) {
  const size_t equals = text.find('=');
  // A name before the first '=' that is not already part of an address.
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return invalid_argument("'" + text +
                            "' is not NAME=ADDRESS, as in A=127.0.0.1:50051 or B=http://127.0.0.1:8000/v1");
  }
  return Contender{.name = text.substr(0, equals), .address = text.substr(equals + 1)};
}

std::vector<size_t> round_order(size_t round, size_t count) {
  std::vector<size_t> order;
  const size_t first = (round / 2) % count;
  for (size_t i = 0; i < count; ++i) order.push_back((first + i) % count);
  if (round % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

std::vector<ComparedMetric> compared_metrics(bool has_slo) {
  std::vector<ComparedMetric> metrics{
      {"output tokens/s", true, [](const Report& report) { return report.output_tokens_per_second(); }},
      {"TTFT p50 ms", false, [](const Report& report) { return report.ttft_ms.p50; }},
      {"TTFT p99 ms", false, [](const Report& report) { return report.ttft_ms.p99; }},
      {"TPOT p50 ms", false, [](const Report& report) { return report.tpot_ms.p50; }},
      {"TPOT p99 ms", false, [](const Report& report) { return report.tpot_ms.p99; }},
      {"end to end p50 ms", false, [](const Report& report) { return report.e2e_ms.p50; }}};
  if (has_slo) {
    metrics.push_back({"good requests/s", true, [](const Report& report) {
                         return report.goodput ? report.goodput->requests_per_second : 0.0;
                       }});
  }
  return metrics;
}

std::vector<Comparison> compare(const std::vector<Contender>& contenders,
                                const std::vector<std::vector<Report>>& reports, size_t which, bool has_slo) {
  std::string against = objection(contenders[0], reports[0]);
  if (against.empty()) against = objection(contenders[which], reports[which]);
  std::vector<Comparison> comparisons;
  for (const ComparedMetric& metric : compared_metrics(has_slo)) {
    Comparison comparison{.metric = metric.name,
                          .is_more_better = metric.is_more_better,
                          .base = {},
                          .other = {},
                          .ratio = {},
                          .verdict = {}};
    const size_t rounds = std::min(reports[0].size(), reports[which].size());
    for (size_t round = 0; round < rounds; ++round) {
      comparison.base.push_back(metric.of(reports[0][round]));
      comparison.other.push_back(metric.of(reports[which][round]));
    }
    comparison.ratio = paired_ratio(comparison.other, comparison.base);
    comparison.verdict =
        against.empty() ? verdict_of(comparison, contenders[0].name, contenders[which].name) : "no verdict: " + against;
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

}  // namespace sluice::bench
