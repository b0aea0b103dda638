#include "server/load_progress.h"

namespace sluice::server {
namespace {

constexpr double kGigabyte = 1e9;

std::string fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

}  // namespace

std::string gigabytes_per_second(int64_t bytes, double seconds) {
  return fixed(seconds > 0 ? static_cast<double>(bytes) / kGigabyte / seconds : 0.0, 2);
}

void LoadProgress::advance(int64_t bytes) {
  const TimePoint now = parts_.clock.now();
  const Duration period = parts_.terminal != nullptr ? kTerminalPeriod : kLogPeriod;
  if (parts_.bytes < kBytesMin || now - told_ < period) return;
  told_ = now;
  const std::string percent = std::to_string(100 * bytes / parts_.bytes);
  const std::string rate = gigabytes_per_second(bytes, to_seconds(now - began_));
  if (parts_.terminal == nullptr) {
    return parts_.logger.info("loading the model", {{"percent", percent}, {"gb_per_second", rate}});
  }
  std::fprintf(parts_.terminal, "\r\033[Kloading %s %%, %s of %s GB, %s GB/s", percent.c_str(),
               fixed(static_cast<double>(bytes) / kGigabyte, 1).c_str(),
               fixed(static_cast<double>(parts_.bytes) / kGigabyte, 1).c_str(), rate.c_str());
  std::fflush(parts_.terminal);
  has_line_ = true;
}

void LoadProgress::finish() {
  if (!has_line_) return;
  std::fputs("\r\033[K", parts_.terminal);
  std::fflush(parts_.terminal);
  has_line_ = false;
}

}  // namespace sluice::server
