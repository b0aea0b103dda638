#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"

namespace sluice::server {

/// Calls something once after a while, unless it is set anew or cancelled before. I/O thread only.
class HttpDeadline {
 public:
  explicit HttpDeadline(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  /// `owner` owns this deadline and what `call` touches; the call is left out when it has gone.
  void set(Duration timeout, std::function<void()> call, const std::weak_ptr<void>& owner) {
    timer_.expires_after(timeout);
    timer_.async_wait(
        [this, serial = ++serial_, call = std::move(call), owner](const boost::system::error_code& error) {
          // A wait that had ended can't be cancelled any more, so its number tells whether it is still wanted.
          const std::shared_ptr<void> alive = owner.lock();
          if (!error && alive != nullptr && serial == serial_) call();
        });
  }

  void cancel() {
    ++serial_;
    timer_.cancel();
  }

 private:
  boost::asio::steady_timer timer_;
  uint64_t serial_ = 0;
};

}  // namespace sluice::server
