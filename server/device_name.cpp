#include "server/device_name.h"

#include <charconv>
#include <optional>
#include <string>

namespace sluice::server {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";
constexpr int32_t kOrdinalMax = 63;

/// One spelling for each number: digits alone, without leading zeros.
std::optional<int32_t> parse_ordinal(std::string_view digits) {
  int32_t ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (ordinal < 0 || ordinal > kOrdinalMax || std::to_string(ordinal) != digits) return std::nullopt;
  return ordinal;
}

}  // namespace

Result<DeviceName> parse_device_name(std::string_view text) {
  using Kind = DeviceName::Kind;
  if (text == "auto") return DeviceName{.kind = Kind::kAuto};
  if (text == "cpu") return DeviceName{.kind = Kind::kCpu};
  if (text == "cuda") return DeviceName{.kind = Kind::kCuda};
  if (text.substr(0, kCudaPrefix.size()) == kCudaPrefix) {
    const auto ordinal = parse_ordinal(text.substr(kCudaPrefix.size()));
    if (ordinal) return DeviceName{.kind = Kind::kCuda, .ordinal = *ordinal};
  }
  return invalid_field("engine.device", "must be auto, cpu, cuda, or cuda:0 to cuda:" + std::to_string(kOrdinalMax) +
                                            ", not \"" + std::string(text) + '"');
}

}  // namespace sluice::server
