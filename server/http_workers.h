#pragma once

#include <cstddef>
#include <functional>

#include "server/worker_thread.h"

namespace sluice::server {

/// Who reads bodies, tokenises and writes long answers, so that the I/O thread never does. Two threads, one for what is
/// small and one for what is large: a request of a few lines is not kept waiting by one of a megabyte. A connection has
/// one piece of work at a time here, so no more wait than there are connections. Thread-safe.
class HttpWorkers {
 public:
  static constexpr size_t kSmallBytesMax = size_t{64} << 10;

  /// `bytes` is the size of what is read or written, as far as it is known.
  void post(size_t bytes, std::function<void()> work) {
    (bytes <= kSmallBytesMax ? small_ : large_).post(std::move(work));
  }

 private:
  WorkerThread small_;
  WorkerThread large_;
};

}  // namespace sluice::server
