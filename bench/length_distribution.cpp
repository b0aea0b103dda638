#include "bench/length_distribution.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/parse_number.h"
#include "bench/counter_engine.h"

namespace sluice::bench {
namespace {

using Kind = LengthDistribution::Kind;

constexpr int32_t kTokensMax = 1 << 20;
constexpr double kSpreadMax = 10;  // of a logarithm; e^10 is beyond any text
constexpr double kCapDeviations = 3;

Status bad_length(const std::string& text) {
  return invalid_argument("'" + text +
                          "' is not N, A..B, normal:MEAN,SD[,MAX] or lognormal:MEDIAN,SIGMA[,MAX] with 1 to " +
                          std::to_string(kTokensMax) + " tokens");
}

int32_t clamp_tokens(double tokens, int32_t max) {
  return static_cast<int32_t>(std::clamp(std::round(tokens), 1.0, static_cast<double>(max)));
}

std::vector<double> read_list(std::string_view text) {
  std::vector<double> numbers;
  while (true) {
    const size_t comma = text.find(',');
    const std::optional<double> number = parse_number<double>(text.substr(0, comma));
    if (!number) return {};
    numbers.push_back(*number);
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

Result<LengthDistribution> parse_shape(const std::string& text, std::string_view list, Kind kind) {
  const std::vector<double> numbers = read_list(list);
  if (numbers.size() != 2 && numbers.size() != 3) return bad_length(text);
  const double middle = numbers[0];
  const double spread = numbers[1];
  const double spread_max = kind == Kind::kNormal ? kTokensMax : kSpreadMax;
  if (middle < 1 || middle > kTokensMax || spread < 0 || spread > spread_max) return bad_length(text);
  const double natural_cap =
      kind == Kind::kNormal ? middle + kCapDeviations * spread : middle * std::exp(kCapDeviations * spread);
  const double cap = numbers.size() == 3 ? numbers[2] : std::min<double>(natural_cap, kTokensMax);
  if (cap < 1 || cap > kTokensMax || (numbers.size() == 3 && cap != std::floor(cap))) return bad_length(text);
  return LengthDistribution{
      .kind = kind, .min = 1, .max = clamp_tokens(cap, kTokensMax), .middle = middle, .spread = spread};
}

}  // namespace

int32_t LengthDistribution::draw(uint64_t seed, uint64_t index) const {
  CounterEngine engine(seed, index);
  switch (kind) {
    case Kind::kUniform:
      return min + static_cast<int32_t>(engine() % (static_cast<uint64_t>(max - min) + 1));
    case Kind::kNormal:
      return clamp_tokens(std::normal_distribution<double>(middle, spread)(engine), max);
    case Kind::kLognormal:
      return clamp_tokens(middle * std::exp(std::normal_distribution<double>(0, spread)(engine)), max);
  }
  return min;
}

std::string LengthDistribution::text() const {
  std::ostringstream text;
  if (kind != Kind::kUniform) {
    text << (kind == Kind::kNormal ? "normal:" : "lognormal:") << middle << ',' << spread << ',' << max;
  } else if (min == max) {
    text << min;
  } else {
    text << min << ".." << max;
  }
  return text.str();
}

Result<LengthDistribution> parse_length(const std::string& text) {
  const std::string_view view = text;
  for (const auto& [name, kind] : {std::pair{"normal:", Kind::kNormal}, std::pair{"lognormal:", Kind::kLognormal}}) {
    if (view.starts_with(name)) return parse_shape(text, view.substr(std::string_view(name).size()), kind);
  }
  const size_t dots = view.find("..");
  const std::optional<int32_t> min = parse_number<int32_t>(view.substr(0, dots));
  const std::optional<int32_t> max =
      dots == std::string_view::npos ? min : parse_number<int32_t>(view.substr(dots + 2));
  if (!min || !max || *min < 1 || *max < *min || *max > kTokensMax) return bad_length(text);
  return LengthDistribution::uniform(*min, *max);
}

}  // namespace sluice::bench
