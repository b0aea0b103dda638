#include "bench/server_histogram.h"

#include <cmath>
#include <limits>

#include "base/parse_number.h"

namespace sluice::bench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::optional<double> parse_bound(std::string_view text) {
  return text == "+Inf" ? std::optional(kInfinity) : parse_number<double>(text);
}

/// The value of the label `le` in `{a="b",le="0.1"}`.
std::optional<double> bound_of(std::string_view labels) {
  constexpr std::string_view kName = "le=\"";
  for (size_t at = labels.find(kName); at != std::string_view::npos; at = labels.find(kName, at + 1)) {
    if (at == 0 || (labels[at - 1] != '{' && labels[at - 1] != ',' && labels[at - 1] != ' ')) continue;
    const size_t begin = at + kName.size();
    return parse_bound(labels.substr(begin, labels.find('"', begin) - begin));
  }
  return std::nullopt;
}

}  // namespace

ServerHistogram ServerHistogram::parse(std::string_view exposition, std::string_view family) {
  ServerHistogram histogram;
  const std::string name = std::string(family) + "_bucket{";
  while (!exposition.empty()) {
    const std::string_view line = exposition.substr(0, exposition.find('\n'));
    exposition.remove_prefix(std::min(line.size() + 1, exposition.size()));
    const size_t close = line.rfind('}');
    if (!line.starts_with(name) || close == std::string_view::npos) continue;
    const std::optional<double> bound = bound_of(line.substr(name.size() - 1, close - name.size() + 1));
    const size_t begin = std::min(line.find_first_not_of(' ', close + 1), line.size());
    const std::string_view rest = line.substr(begin);
    const std::optional<double> count = parse_number<double>(rest.substr(0, rest.find(' ')));
    if (bound && count) histogram.at_most_[*bound] += *count;
  }
  return histogram;
}

int64_t ServerHistogram::count() const {
  return is_empty() ? 0 : static_cast<int64_t>(at_most_.rbegin()->second);
}

ServerHistogram ServerHistogram::since(const ServerHistogram& before) const {
  ServerHistogram difference = *this;
  for (auto& [bound, count] : difference.at_most_) {
    const auto earlier = before.at_most_.find(bound);
    if (earlier != before.at_most_.end()) count -= earlier->second;
  }
  return difference;
}

std::optional<ServerHistogram::Quantile> ServerHistogram::quantile(double share) const {
  if (is_empty() || at_most_.rbegin()->second <= 0) return std::nullopt;
  const double rank = share * at_most_.rbegin()->second;
  double lower = 0;
  double below = 0;
  for (const auto& [bound, count] : at_most_) {
    if (count >= rank && count > below) {
      if (std::isinf(bound)) return Quantile{.seconds = lower, .bucket_width = kInfinity};
      const double within = (rank - below) / (count - below);
      return Quantile{.seconds = lower + within * (bound - lower), .bucket_width = bound - lower};
    }
    lower = bound;
    below = count;
  }
  return std::nullopt;
}

}  // namespace sluice::bench
