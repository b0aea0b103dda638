#include "tests/bench/scripted_http_server.h"

#include <charconv>
#include <list>
#include <sstream>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include "tests/client/support/scripted_server.h"

namespace sluice::bench {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

class Wire final : public HttpWire {
 public:
  Wire(Tcp::socket& socket, test_support::Gate& stopped) : socket_(socket), stopped_(stopped) {}

  void send(std::string_view bytes) override {
    error_code ignored;
    asio::write(socket_, asio::buffer(bytes), ignored);
  }
  void wait_until(TimePoint until) override { stopped_.wait_until(until); }
  void close() override {
    error_code ignored;
    socket_.shutdown(Tcp::socket::shutdown_both, ignored);
    is_closed_ = true;
  }
  bool is_closed() const { return is_closed_; }

 private:
  Tcp::socket& socket_;
  test_support::Gate& stopped_;
  bool is_closed_ = false;
};

size_t content_length(const std::string& head) {
  constexpr std::string_view kName = "Content-Length: ";
  const size_t at = head.find(kName);
  size_t length = 0;
  if (at != std::string::npos) std::from_chars(head.data() + at + kName.size(), head.data() + head.size(), length);
  return length;
}

/// False when the connection has ended.
bool read_request(Tcp::socket& socket, std::string& buffer, HttpAsked& asked) {
  error_code error;
  const size_t head = asio::read_until(socket, asio::dynamic_buffer(buffer), "\r\n\r\n", error);
  if (error) return false;
  asked.head = buffer.substr(0, head);
  buffer.erase(0, head);
  const size_t length = content_length(asked.head);
  if (buffer.size() < length) {
    asio::read(socket, asio::dynamic_buffer(buffer), asio::transfer_exactly(length - buffer.size()), error);
  }
  if (error) return false;
  asked.body = buffer.substr(0, length);
  buffer.erase(0, length);
  return true;
}

}  // namespace

void HttpWire::event(const std::string& data) {
  const std::string text = "data: " + data + "\n\n";
  std::ostringstream chunk;
  chunk << std::hex << text.size() << "\r\n" << text << "\r\n";
  send(chunk.str());
}

void HttpWire::whole(int status, const std::string& type, const std::string& body) {
  send("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " + type +
       "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

struct ScriptedHttpServer::State {
  explicit State(Script to_follow) : script(std::move(to_follow)) {
    accepting = std::thread([this] { accept(); });
  }
  ~State() {
    is_stopping = true;
    stopped.open();
    error_code ignored;
    // Wakes the thread that waits for the next connection.
    Tcp::socket(context).connect(acceptor.local_endpoint(), ignored);
    accepting.join();
    for (Tcp::socket& socket : sockets) socket.shutdown(Tcp::socket::shutdown_both, ignored);
    for (std::thread& thread : threads) thread.join();
  }

  void accept() {
    while (true) {
      sockets.emplace_back(context);
      error_code error;
      acceptor.accept(sockets.back(), error);
      if (is_stopping || error) return;
      threads.emplace_back([this, &socket = sockets.back(), number = connections++] { serve(socket, number); });
    }
  }
  void serve(Tcp::socket& socket, int number) {
    std::string buffer;
    Wire wire(socket, stopped);
    HttpAsked asked{.head = {}, .body = {}, .connection = number};
    while (!wire.is_closed() && read_request(socket, buffer, asked)) {
      if (asked.head.starts_with("GET ")) {
        wire.whole(200, "application/json", R"({"data":[{"id":"scripted","max_model_len":1024}]})");
      } else {
        script(asked, wire);
      }
    }
  }

  const Script script;
  test_support::Gate stopped;
  std::atomic<bool> is_stopping = false;
  std::atomic<int> connections = 0;
  asio::io_context context;
  Tcp::acceptor acceptor{context, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::list<Tcp::socket> sockets;
  std::list<std::thread> threads;
  std::thread accepting;
};

ScriptedHttpServer::ScriptedHttpServer(Script script) : state_(std::make_unique<State>(std::move(script))) {}

ScriptedHttpServer::~ScriptedHttpServer() = default;

std::string ScriptedHttpServer::url() const {
  return "http://127.0.0.1:" + std::to_string(state_->acceptor.local_endpoint().port());
}

int ScriptedHttpServer::connections() const {
  return state_->connections;
}

}  // namespace sluice::bench
