#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bench/http_exchange.h"
#include "bench/server_url.h"
#include "client/cancellation.h"

namespace sluice::bench {

struct HttpResponse {
  int status = 0;
  std::string body;
};

/// One HTTP/1.1 server, spoken to by one I/O thread over as many connections as there are exchanges at a time. They are
/// kept for later exchanges. Thread-safe.
class HttpClient {
 public:
  /// Looks the host up. With https it trusts the roots in the PEM file `tls_ca_path`, or those that the machine trusts
  /// when that is empty. UNAVAILABLE when the name isn't known, NOT_FOUND when the file can't be read.
  static Result<std::unique_ptr<HttpClient>> create(const ServerUrl& url, const std::string& tls_ca_path);
  /// What is in flight is dropped without a word.
  ~HttpClient();

  /// The bytes of a request: a POST of JSON if there is a body, else a GET.
  std::string request(const std::string& path, const std::vector<std::pair<std::string, std::string>>& headers,
                      const std::optional<std::string>& body) const;

  /// Never blocks.
  void start(std::shared_ptr<HttpExchange> exchange);
  void cancel(std::shared_ptr<HttpExchange> exchange);

  /// A whole answer of at most 64 MiB, waited for on this thread. The failures' messages name the server.
  Result<HttpResponse> get(const std::string& path, const std::vector<std::pair<std::string, std::string>>& headers,
                           client::Cancellation& cancellation);

 private:
  struct Io;
  HttpClient(ServerUrl url, std::unique_ptr<Io> io);

  const ServerUrl url_;
  const std::unique_ptr<Io> io_;
};

}  // namespace sluice::bench
