#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace sluice::engine::cuda {

/// Hands pieces that threads have filled into buffers to the one thread that empties them. Pieces and buffers are
/// numbers from 0 on here. Thread-safe.
class PieceQueue {
 public:
  PieceQueue(size_t piece_count, size_t buffer_count);

  /// What a thread fills: the next piece, into a buffer that is its own until it is released.
  struct Work {
    size_t piece = 0;
    size_t buffer = 0;
  };
  struct Filled {
    Work work;
    std::span<const std::byte> bytes;  ///< of the piece, in the buffer
  };

  /// Waits for a free buffer. nullopt when no piece is left or the queue is closed.
  std::optional<Work> claim();
  void give(const Filled& filled);
  /// The first failure is what take() tells; nothing more can be claimed.
  void fail(Status status);

  /// The piece that was filled first. nullopt when there is none, or with `waits` never. Each piece is taken once.
  Result<std::optional<Filled>> take(bool waits);
  void release(size_t buffer);
  /// Nothing more can be claimed, and nobody waits for it any more.
  void close();

 private:
  const size_t piece_count_;
  Mutex mutex_;
  CondVar changed_;
  size_t next_piece_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::vector<size_t> free_ SLUICE_GUARDED_BY(mutex_);
  std::deque<Filled> filled_ SLUICE_GUARDED_BY(mutex_);
  Status failure_ SLUICE_GUARDED_BY(mutex_);
  bool is_closed_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::engine::cuda
