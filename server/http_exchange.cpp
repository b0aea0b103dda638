#include "server/http_exchange.h"

#include <utility>

namespace sluice::server {

void HttpExchange::drop_body() {
  request_.body = std::string();
  request_.body_lease = HttpBodyLease();
}

void HttpExchange::send(HttpAnswer answer) {
  if (!is_answered_.exchange(true)) port_.send(std::move(answer));
}

void HttpExchange::wake() {
  if (!is_woken_.exchange(true)) port_.wake();
}

void HttpExchange::when_closed(std::function<void(HttpEnd)> call) {
  HttpEnd end = HttpEnd::kClientGone;
  {
    const MutexLock lock(mutex_);
    if (!is_closed_.load()) {
      closers_.push_back(std::move(call));
      return;
    }
    end = end_;
  }
  call(end);
}

void HttpExchange::close(HttpEnd end) {
  std::vector<std::function<void(HttpEnd)>> closers;
  {
    const MutexLock lock(mutex_);
    is_closed_.store(true);
    end_ = end;
    closers = std::exchange(closers_, {});
  }
  for (const auto& call : closers) call(end);
}

}  // namespace sluice::server
