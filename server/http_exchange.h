#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/http_message.h"

namespace sluice::server {

/// The body of an answer that comes in pieces. Lives as long as the answer is being written.
class HttpBodySource {
 public:
  struct Piece {
    std::string bytes;     ///< empty when there is nothing yet
    bool is_last = false;  ///< nothing follows these bytes
  };

  virtual ~HttpBodySource() = default;
  /// What there is by now, about `bytes_max` at most. On the I/O thread, and not again until the piece was written: who
  /// reads slowly is asked for seldom.
  virtual Piece next(size_t bytes_max) = 0;
};

/// What a handler answers: a whole response, or one whose body the source provides.
struct HttpAnswer {
  HttpResponse response;
  std::shared_ptr<HttpBodySource> source = nullptr;
};

/// How an exchange ended.
enum class HttpEnd {
  kAnswered,
  kClientGone,  ///< or it was given up: it takes nothing, or the listener stops
};

/// One request whose answer comes later, perhaps in pieces and from another thread. Whoever will answer shares it with
/// the connection; it may outlive that. Thread-safe.
class HttpExchange {
 public:
  /// The connection's side; both may be called on any thread.
  struct Port {
    std::function<void(HttpAnswer)> send;
    std::function<void()> wake;
  };

  HttpExchange(HttpRequest request, Port port) : request_(std::move(request)), port_(std::move(port)) {}
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  const HttpRequest& request() const { return request_; }
  /// Frees the body; by the one thread that reads it.
  void drop_body();

  /// Answers; the first call counts, others do nothing.
  void answer(HttpResponse response) { send({std::move(response), nullptr}); }
  void stream(HttpResponse head, std::shared_ptr<HttpBodySource> source) { send({std::move(head), std::move(source)}); }
  /// The source has something to say again.
  void wake();

  /// Nothing that is said now reaches anybody.
  bool is_closed() const { return is_closed_.load(); }
  /// `call` runs once when that comes true, on the I/O thread, or now when it is. Several may be given.
  void when_closed(std::function<void(HttpEnd)> call);

  // For the connection, on the I/O thread.

  void close(HttpEnd end);
  /// Before the source is asked: what it says from now on is told with a new wake.
  void begin_pull() { is_woken_.store(false); }

 private:
  void send(HttpAnswer answer);

  HttpRequest request_;
  const Port port_;
  std::atomic<bool> is_answered_{false};
  std::atomic<bool> is_woken_{false};
  std::atomic<bool> is_closed_{false};

  Mutex mutex_;
  std::vector<std::function<void(HttpEnd)>> closers_ SLUICE_GUARDED_BY(mutex_);
  HttpEnd end_ SLUICE_GUARDED_BY(mutex_) = HttpEnd::kClientGone;
};

}  // namespace sluice::server
