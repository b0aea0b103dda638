#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"

namespace sluice::null_server {

/// An answer in the making: tokens that are due one after the other.
class PacedStream {
 public:
  virtual ~PacedStream() = default;
  /// So many tokens, from the beginning, should have been sent by now. False once it needs no more calls.
  virtual bool send_up_to(int32_t tokens) = 0;
};

/// Tells streams when tokens are due: the first at once, and one every interval. One thread, the I/O context's.
class Pacing {
 public:
  /// Both are lent. An interval of zero: all tokens are due at once.
  Pacing(boost::asio::io_context& io, const Clock& clock, Duration interval);

  void add(std::shared_ptr<PacedStream> stream);

 private:
  struct Entry {
    std::shared_ptr<PacedStream> stream;
    TimePoint start;
  };

  int32_t tokens_due(TimePoint start) const;
  void tick();

  const Clock& clock_;
  const Duration interval_;
  boost::asio::steady_timer timer_;
  TimePoint next_tick_{};
  bool is_ticking_ = false;
  std::vector<Entry> streams_;
};

}  // namespace sluice::null_server
