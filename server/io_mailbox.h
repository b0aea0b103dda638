#pragma once

#include <functional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/mutex.h"

namespace sluice::server {

/// The way to an I/O thread from others, which may outlive it. Thread-safe.
class IoMailbox {
 public:
  explicit IoMailbox(boost::asio::io_context& io) : io_(io) {}

  /// `work` runs on the I/O thread, or never when that has ended.
  void post(std::function<void()> work) {
    const MutexLock lock(mutex_);
    if (is_open_) boost::asio::post(io_, std::move(work));
  }

  /// The context is not touched any more.
  void close() {
    const MutexLock lock(mutex_);
    is_open_ = false;
  }

 private:
  boost::asio::io_context& io_;
  Mutex mutex_;
  bool is_open_ SLUICE_GUARDED_BY(mutex_) = true;
};

}  // namespace sluice::server
