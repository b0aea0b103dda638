#include "engine/cuda/piece_queue.h"

#include <utility>

namespace sluice::engine::cuda {

PieceQueue::PieceQueue(size_t piece_count, size_t buffer_count) : piece_count_(piece_count) {
  for (size_t buffer = 0; buffer < buffer_count; ++buffer) free_.push_back(buffer);
}

std::optional<PieceQueue::Work> PieceQueue::claim() {
  const MutexLock lock(mutex_);
  while (free_.empty() && next_piece_ < piece_count_ && !is_closed_) changed_.wait(mutex_);
  if (next_piece_ == piece_count_ || is_closed_) return std::nullopt;
  const Work work{.piece = next_piece_++, .buffer = free_.back()};
  free_.pop_back();
  return work;
}

void PieceQueue::give(const Filled& filled) {
  const MutexLock lock(mutex_);
  filled_.push_back(filled);
  changed_.notify_all();
}

void PieceQueue::fail(Status status) {
  const MutexLock lock(mutex_);
  if (failure_.ok()) failure_ = std::move(status);
  is_closed_ = true;
  changed_.notify_all();
}

Result<std::optional<PieceQueue::Filled>> PieceQueue::take(bool waits) {
  const MutexLock lock(mutex_);
  while (waits && filled_.empty() && failure_.ok()) changed_.wait(mutex_);
  if (!failure_.ok()) return failure_;
  if (filled_.empty()) return std::optional<Filled>();
  const Filled first = filled_.front();
  filled_.pop_front();
  return std::optional(first);
}

void PieceQueue::release(size_t buffer) {
  const MutexLock lock(mutex_);
  free_.push_back(buffer);
  changed_.notify_all();
}

void PieceQueue::close() {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

}  // namespace sluice::engine::cuda
