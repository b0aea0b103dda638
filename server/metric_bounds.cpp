#include "server/metric_bounds.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "server/config.h"
#include "server/config_value.h"

namespace sluice::server {
namespace {

constexpr size_t kBoundsMax = 64;
constexpr double kSmallest = 1e-6;
/// Bounds that are told apart when they are printed.
constexpr double kStepMin = 1.0001;

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<double> parse_bound(std::string_view text) {
  double bound = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), bound);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(bound) || bound < kSmallest)
    return {};
  return bound;
}

}  // namespace

Result<MetricBounds::Bounds> parse_bounds(std::string_view key, std::string_view text) {
  MetricBounds::Bounds bounds;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view piece = trim(text.substr(begin, end - begin));
    const std::optional<double> bound = parse_bound(piece);
    if (!bound) {
      return invalid_field(std::string(key),
                           "must be numbers from 0.000001 with commas between, not \"" + shown(piece) + '"');
    }
    if (!bounds.empty() && *bound < bounds.back() * kStepMin)
      return invalid_field(std::string(key),
                           "must ascend, but " + shown(piece) + " does not clearly exceed the one before");
    bounds.push_back(*bound);
    if (bounds.size() > kBoundsMax) {
      return invalid_field(std::string(key), "may hold at most " + std::to_string(kBoundsMax) + " bounds");
    }
    begin = end + 1;
  }
  return bounds;
}

Result<MetricBounds> metric_bounds(const MetricsSection& section) {
  MetricBounds bounds;
  struct List {
    const char* key;
    const std::string& text;
    MetricBounds::Bounds& bounds;
  };
  const List lists[] = {
      {"metrics.time_to_first_token_buckets", section.time_to_first_token_buckets, bounds.time_to_first_token},
      {"metrics.time_per_output_token_buckets", section.time_per_output_token_buckets, bounds.time_per_output_token},
      {"metrics.inter_token_latency_buckets", section.inter_token_latency_buckets, bounds.inter_token_latency},
      {"metrics.queue_buckets", section.queue_buckets, bounds.queue},
      {"metrics.prefill_buckets", section.prefill_buckets, bounds.prefill},
      {"metrics.decode_buckets", section.decode_buckets, bounds.decode},
      {"metrics.end_to_end_buckets", section.end_to_end_buckets, bounds.end_to_end},
      {"metrics.token_buckets", section.token_buckets, bounds.tokens},
  };
  for (const List& list : lists) {
    if (list.text.empty()) continue;
    SLUICE_ASSIGN_OR_RETURN(list.bounds, parse_bounds(list.key, list.text));
  }
  return bounds;
}

}  // namespace sluice::server
