#include "bench/progress_bar.h"

#include <algorithm>
#include <string>

namespace sluice::bench {
namespace {

constexpr int kWidth = 40;
constexpr const char* kStartOfLine = "\r\x1b[K";

}  // namespace

void ProgressBar::draw(double share, int64_t requests_done) {
  if (!is_terminal_) return;
  const auto filled = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * kWidth);
  out_ << kStartOfLine << '[' << std::string(filled, '=') << std::string(kWidth - filled, ' ') << "] "
       << static_cast<int>(std::clamp(share, 0.0, 1.0) * 100) << " %, " << requests_done << " requests" << std::flush;
}

void ProgressBar::clear() {
  if (is_terminal_) out_ << kStartOfLine << std::flush;
}

}  // namespace sluice::bench
