#include "engine/read_ring.h"

#include <cerrno>
#include <utility>

#include <liburing.h>

#include "base/check.h"

namespace sluice::engine {

std::optional<ReadRing> ReadRing::make(uint32_t depth) {
  auto ring = std::make_unique<io_uring>();
  if (::io_uring_queue_init(depth, ring.get(), 0) != 0) return std::nullopt;
  return ReadRing({ring.release(), TakeDown()}, depth);
}

void ReadRing::TakeDown::operator()(io_uring* ring) const {
  ::io_uring_queue_exit(ring);
  delete ring;
}

void ReadRing::read(int fd, std::span<RingRead> reads) {
  SLUICE_CHECK(reads.size() <= depth_);
  for (RingRead& read : reads) read.done = -EIO;  // what those keep that cannot be submitted
  if (is_broken_) return;
  for (RingRead& read : reads) {
    io_uring_sqe* const entry = ::io_uring_get_sqe(ring_.get());
    SLUICE_CHECK(entry != nullptr);  // all of an earlier call have been submitted
    ::io_uring_prep_read(entry, fd, read.to, read.bytes, static_cast<uint64_t>(read.offset));
    ::io_uring_sqe_set_data(entry, &read);
  }
  for (size_t left = submit(reads.size()); left > 0; --left) take_one();
}

/// How many of the `count` reads in the queue are under way now.
size_t ReadRing::submit(size_t count) {
  size_t submitted = 0;
  while (submitted < count && !is_broken_) {
    const int taken = ::io_uring_submit(ring_.get());
    if (taken > 0) submitted += static_cast<size_t>(taken);
    is_broken_ = taken <= 0 && taken != -EINTR;
  }
  return submitted;
}

void ReadRing::take_one() {
  io_uring_cqe* entry = nullptr;
  int failure = -EINTR;
  while (failure == -EINTR) failure = ::io_uring_wait_cqe(ring_.get(), &entry);
  SLUICE_CHECK(failure == 0);  // else the kernel might still write where somebody else soon does
  static_cast<RingRead*>(::io_uring_cqe_get_data(entry))->done = entry->res;
  ::io_uring_cqe_seen(ring_.get(), entry);
}

}  // namespace sluice::engine
