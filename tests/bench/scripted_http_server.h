#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace sluice::bench {

/// A request as the scripted server read it.
struct HttpAsked {
  std::string head;  ///< request line and headers, as they came
  std::string body;
  int connection = 0;  ///< by order of acceptance, from 0
};

/// One accepted connection, in the hands of a script.
class HttpWire {
 public:
  virtual ~HttpWire() = default;
  virtual void send(std::string_view bytes) = 0;
  /// Returns at that moment, or when the server stops.
  virtual void wait_until(TimePoint until) = 0;
  /// Nothing more is sent or read on it.
  virtual void close() = 0;

  /// A response's head for a chunked event stream.
  void begin_stream() {
    send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  }
  /// One event, as a chunk of its own.
  void event(const std::string& data);
  void end_stream() { send("0\r\n\r\n"); }
  void whole(int status, const std::string& type, const std::string& body);
};

/// An HTTP server on loopback that follows a script, request by request, on a thread per connection. GET requests are
/// answered with a list of one model, "scripted", and not given to the script.
class ScriptedHttpServer {
 public:
  using Script = std::function<void(const HttpAsked&, HttpWire&)>;

  explicit ScriptedHttpServer(Script script);
  ~ScriptedHttpServer();

  /// http://127.0.0.1:PORT
  std::string url() const;
  int connections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::bench
