#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "server/http_front.h"
#include "server/http_router.h"
#include "server/http_workers.h"

namespace sluice::server {

/// OpenAI's HTTP API: POST /v1/completions and /v1/chat/completions, GET /v1/models, POST /tokenize and /detokenize,
/// GET /openapi.json. Until open() what needs the model is refused with 503, so the port can be taken before it is
/// loaded. Outlives the server that has its routes.
class HttpApi {
 public:
  /// From now on calls are served. `front` is lent and outlives this.
  void open(const HttpFront& front) { front_.store(&front); }

  std::vector<HttpRoute> routes();

 private:
  using Work = std::function<void(const HttpFront& front, const std::shared_ptr<HttpExchange>& exchange)>;
  using Answer = std::function<HttpResponse(const HttpFront& front, const HttpRequest& request)>;

  /// Lets in whoever may call.
  HttpGate gate() const;
  HttpRoute later(std::string path, Work work);
  HttpRoute at_once(std::string path, Answer answer) const;

  std::atomic<const HttpFront*> front_{nullptr};
  HttpWorkers workers_;
};

}  // namespace sluice::server
