#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/http_socket.h"
#include "server/http_deadline.h"
#include "server/http_message.h"

namespace sluice::server {

/// How an answer's end is known.
enum class HttpFraming { kLength, kChunked, kUntilClosed };

/// The status line and the fields of an answer, with the empty line. `version` is 10 or 11, as the request had it.
std::string http_head(const HttpResponse& response, unsigned version, HttpFraming framing, bool keep_alive);

/// Writes to a connection's socket, one slice at a time, each against the clock: a client that takes the bytes slowly
/// but takes them is served, one that takes none is given up. I/O thread only.
class HttpWriter {
 public:
  struct Callbacks {
    std::function<void()> on_drained;  ///< all that was pushed is written
    std::function<void()> on_failed;   ///< the client has gone, or takes nothing
  };

  HttpWriter(HttpSocket& socket, Duration write_timeout)
      : socket_(socket), write_timeout_(write_timeout), deadline_(socket.get_executor()) {}

  /// Before the first push. `owner` owns this writer and what the callbacks touch, and is kept alive while bytes are on
  /// their way.
  void connect(Callbacks callbacks, const std::weak_ptr<void>& owner);

  void push(std::string bytes);
  bool is_idle() const { return pending_.empty(); }
  void cancel() { deadline_.cancel(); }

 private:
  void write_slice();
  void on_slice(const boost::system::error_code& error, size_t bytes);

  HttpSocket& socket_;
  const Duration write_timeout_;
  HttpDeadline deadline_;
  Callbacks callbacks_;
  std::weak_ptr<void> owner_;
  std::deque<std::string> pending_;  // the first is being written
  size_t written_ = 0;               // of the first
};

}  // namespace sluice::server
