#include "bench/null_server/pacing.h"

#include <algorithm>

namespace sluice::null_server {
namespace {

/// Streams are looked at this often: what is due meanwhile goes out together.
constexpr Duration kTick = std::chrono::milliseconds(1);

}  // namespace

Pacing::Pacing(boost::asio::io_context& io, const Clock& clock, Duration interval)
    : clock_(clock), interval_(interval), timer_(io) {}

void Pacing::add(std::shared_ptr<PacedStream> stream) {
  const TimePoint start = clock_.now();
  if (!stream->send_up_to(tokens_due(start))) return;
  streams_.push_back({.stream = std::move(stream), .start = start});
  if (is_ticking_) return;
  is_ticking_ = true;
  next_tick_ = start;
  tick();
}

int32_t Pacing::tokens_due(TimePoint start) const {
  if (interval_ == Duration::zero()) return INT32_MAX;
  return static_cast<int32_t>(std::min<int64_t>((clock_.now() - start) / interval_ + 1, INT32_MAX));
}

void Pacing::tick() {
  std::erase_if(streams_, [this](const Entry& entry) { return !entry.stream->send_up_to(tokens_due(entry.start)); });
  is_ticking_ = !streams_.empty();
  if (!is_ticking_) return;
  next_tick_ = std::max(next_tick_ + kTick, clock_.now());
  timer_.expires_at(next_tick_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

}  // namespace sluice::null_server
