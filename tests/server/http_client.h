#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "server/listen_address.h"

namespace sluice::server {

/// A blocking client on one connection to the loopback interface.
class HttpClient {
 public:
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  explicit HttpClient(const ListenAddress& address) {
    socket_.connect({boost::asio::ip::make_address(address.host), address.port});
  }

  /// Errors are left alone: the server may have closed already.
  void send(std::string_view bytes) {
    boost::system::error_code ignored;
    boost::asio::write(socket_, boost::asio::buffer(bytes), ignored);
  }
  /// Closes so that the server is told at once.
  void reset() {
    socket_.set_option(boost::asio::socket_base::linger(true, 0));
    socket_.close();
  }
  void end_sending() { socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send); }

  /// The next response; status 0 when the connection ends before one.
  Response read(bool is_head = false) {
    while (true) {
      boost::beast::http::response_parser<boost::beast::http::string_body> parser;
      parser.skip(is_head);
      boost::system::error_code error;
      boost::beast::http::read(socket_, buffer_, parser, error);
      if (error) break;
      // A server that takes its time may ask in between whether anybody is there.
      if (parser.get().result() != boost::beast::http::status::continue_) return parser.release();
    }
    Response none;
    none.result(boost::beast::http::status::unknown);
    return none;
  }
  Response get(const std::string& path) {
    send("GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n");
    return read();
  }
  void send_post(const std::string& path, const std::string& body, const std::string& fields = {}) {
    send("POST " + path + " HTTP/1.1\r\nHost: test\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body);
  }
  Response post(const std::string& path, const std::string& body, const std::string& fields = {}) {
    send_post(path, body, fields);
    return read();
  }
  /// The first bytes there are.
  std::string read_some() {
    std::string bytes(4096, '\0');
    boost::system::error_code ignored;
    bytes.resize(socket_.read_some(boost::asio::buffer(bytes), ignored));
    return bytes;
  }
  /// Everything until the server closes.
  std::string read_to_end() {
    std::string rest;
    boost::system::error_code ignored;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(rest), ignored);
    return rest;
  }

 private:
  std::unique_ptr<boost::asio::io_context> io_ = std::make_unique<boost::asio::io_context>();
  boost::asio::ip::tcp::socket socket_{*io_};
  boost::beast::flat_buffer buffer_;
};

}  // namespace sluice::server
