#include "server/span_exporter.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::server {
namespace {

/// A collector would rather have few bodies, a reader would rather not wait.
constexpr Duration kBatchPatience = std::chrono::seconds(1);
constexpr Duration kLastPatience = std::chrono::seconds(2);

}  // namespace

SpanExporter::SpanExporter(Parts parts) : parts_(std::move(parts)), thread_([this] { run(); }) {}

SpanExporter::~SpanExporter() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    last_moment_ = parts_.clock.now() + kLastPatience;
    changed_.notify_one();
  }
  thread_.join();
}

void SpanExporter::note(const RequestRecord& record) {
  if (!record.trace.is_sampled) return;
  const std::chrono::nanoseconds wall = parts_.wall_clock().time_since_epoch();
  TracedRequest traced{record, wall - parts_.clock.now().time_since_epoch(), parts_.seed};
  const MutexLock lock(mutex_);
  if (queue_.size() >= kQueueMax) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  queue_.push_back(std::move(traced));
  if (queue_.size() == 1 || queue_.size() == kBatchMax) changed_.notify_one();
}

void SpanExporter::run() {
  for (std::vector<TracedRequest> batch = take_batch(); !batch.empty(); batch = take_batch()) send(batch);
}

/// Waits for some; none when it is all over.
std::vector<TracedRequest> SpanExporter::take_batch() {
  const MutexLock lock(mutex_);
  while (queue_.empty() && !is_stopping_) changed_.wait(mutex_);
  const TimePoint until = parts_.clock.now() + kBatchPatience;
  while (queue_.size() < kBatchMax && !is_stopping_) {
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) break;
  }
  // Once it is over, a collector that takes nothing would only hold up the end.
  if (is_stopping_ && (was_refused_ || parts_.clock.now() > last_moment_)) {
    dropped_.fetch_add(queue_.size(), std::memory_order_relaxed);
    queue_.clear();
  }
  const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), kBatchMax));
  std::vector<TracedRequest> batch(std::move_iterator(queue_.begin()), std::move_iterator(queue_.begin() + count));
  queue_.erase(queue_.begin(), queue_.begin() + count);
  return batch;
}

void SpanExporter::send(const std::vector<TracedRequest>& batch) {
  const Status status = parts_.post(otlp_json(batch, parts_.resource));
  (status.ok() ? exported_ : dropped_).fetch_add(batch.size(), std::memory_order_relaxed);
  if (status.ok() == !was_refused_) return;
  was_refused_ = !status.ok();
  if (was_refused_) {
    parts_.logger.warning("traces are dropped until the collector takes them", {{"why", status.message()}});
  } else {
    parts_.logger.info("the collector takes traces again");
  }
}

}  // namespace sluice::server
