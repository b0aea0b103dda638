#include "bench/http_client.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <sstream>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "bench/http_connection.h"

namespace sluice::bench {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr size_t kBodyBytesMax = size_t{64} << 20;
constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::milliseconds kLook{100};

/// One that waits for its whole answer.
class WholeExchange final : public HttpExchange {
 public:
  using HttpExchange::HttpExchange;

  std::future<Result<HttpResponse>> answer() { return answer_.get_future(); }
  void on_head(int status, std::string_view) override { response_.status = status; }
  void on_body(std::string_view piece) override {
    is_too_long_ = is_too_long_ || response_.body.size() + piece.size() > kBodyBytesMax;
    if (!is_too_long_) response_.body += piece;
  }
  void on_end(HttpEnd end, const std::string& problem) override {
    if (end != HttpEnd::kWhole) return answer_.set_value(unavailable(problem));
    if (is_too_long_) return answer_.set_value(unavailable("the answer is longer than 64 MiB"));
    answer_.set_value(std::move(response_));
  }

 private:
  HttpResponse response_;
  bool is_too_long_ = false;
  std::promise<Result<HttpResponse>> answer_;
};

Result<TlsContext> make_tls(const ServerUrl& url, const std::string& ca_path) {
  if (url.scheme != ServerUrl::Scheme::kHttps) return TlsContext();
  auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code error;
  tls->set_verify_mode(asio::ssl::verify_peer, error);
  if (ca_path.empty()) {
    tls->set_default_verify_paths(error);
  } else {
    tls->load_verify_file(ca_path, error);
  }
  if (error) return not_found("--tls-ca: cannot read " + ca_path + ": " + error.message());
  return tls;
}

}  // namespace

/// What the I/O thread owns; others only post to it.
struct HttpClient::Io {
  explicit Io(HttpHost to) : host(std::move(to)), thread([this] { context.run(); }) {}
  ~Io() {
    context.stop();
    thread.join();
  }

  std::shared_ptr<HttpConnection> free_connection() {
    if (idle.empty()) {
      return std::make_shared<HttpConnection>(
          context, host, [this](std::shared_ptr<HttpConnection> freed) { idle.push_back(std::move(freed)); });
    }
    std::shared_ptr<HttpConnection> connection = std::move(idle.back());
    idle.pop_back();
    return connection;
  }
  void run(const std::shared_ptr<HttpExchange>& exchange) {
    std::erase_if(busy, [](const std::weak_ptr<HttpConnection>& other) {
      const auto connection = other.lock();
      return connection == nullptr || connection->exchange() == nullptr;
    });
    const std::shared_ptr<HttpConnection> connection = free_connection();
    busy.push_back(connection);
    connection->run(exchange);
  }
  void cancel(const HttpExchange* exchange) {
    const std::vector<std::weak_ptr<HttpConnection>> running = busy;
    for (const std::weak_ptr<HttpConnection>& other : running) {
      const auto connection = other.lock();
      if (connection != nullptr && connection->exchange() == exchange) connection->cancel();
    }
  }

  const HttpHost host;
  asio::io_context context{1};  // connections are destroyed with it, before what is above
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::vector<std::shared_ptr<HttpConnection>> idle;
  std::vector<std::weak_ptr<HttpConnection>> busy;
  std::thread thread;
};

HttpClient::HttpClient(ServerUrl url, std::unique_ptr<Io> io) : url_(std::move(url)), io_(std::move(io)) {}

HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::create(const ServerUrl& url, const std::string& tls_ca_path) {
  SLUICE_ASSIGN_OR_RETURN(const TlsContext tls, make_tls(url, tls_ca_path));
  asio::io_context context;
  error_code error;
  auto endpoints = asio::ip::tcp::resolver(context).resolve(url.host, url.port, error);
  if (error) return unavailable("cannot find the host " + url.host + ": " + error.message());
  auto io = std::make_unique<Io>(HttpHost{.name = url.host, .endpoints = std::move(endpoints), .tls = tls});
  return std::unique_ptr<HttpClient>(new HttpClient(url, std::move(io)));
}

std::string HttpClient::request(const std::string& path,
                                const std::vector<std::pair<std::string, std::string>>& headers,
                                const std::optional<std::string>& body) const {
  std::ostringstream text;
  text << (body ? "POST " : "GET ") << path << " HTTP/1.1\r\nHost: " << url_.authority() << "\r\n";
  for (const auto& [name, value] : headers) text << name << ": " << value << "\r\n";
  if (body) text << "Content-Type: application/json\r\nContent-Length: " << body->size() << "\r\n";
  text << "\r\n" << body.value_or("");
  return text.str();
}

void HttpClient::start(std::shared_ptr<HttpExchange> exchange) {
  asio::post(io_->context, [io = io_.get(), exchange = std::move(exchange)] { io->run(exchange); });
}

void HttpClient::cancel(std::shared_ptr<HttpExchange> exchange) {
  asio::post(io_->context, [io = io_.get(), exchange = std::move(exchange)] { io->cancel(exchange.get()); });
}

Result<HttpResponse> HttpClient::get(const std::string& path,
                                     const std::vector<std::pair<std::string, std::string>>& headers,
                                     client::Cancellation& cancellation) {
  const auto exchange = std::make_shared<WholeExchange>(request(path, headers, std::nullopt));
  std::future<Result<HttpResponse>> answer = exchange->answer();
  start(exchange);
  for (auto waited = kLook; answer.wait_for(kLook) == std::future_status::timeout; waited += kLook) {
    if (cancellation.cancelled() || waited > kPatience) cancel(exchange);
  }
  const Result<HttpResponse> response = answer.get();
  if (response.ok()) return response;
  return unavailable("GET " + url_.authority() + path + ": " + response.status().message());
}

}  // namespace sluice::bench
