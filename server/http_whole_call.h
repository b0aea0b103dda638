#pragma once

#include <memory>

#include "server/answer_format.h"
#include "server/completion_collector.h"
#include "server/completion_sink.h"
#include "server/http_answer_terms.h"
#include "server/http_exchange.h"
#include "server/http_workers.h"

namespace sluice::server {

/// A completion that is answered once, when all choices have ended. The answer is written by the workers: a long one
/// must hold up neither the other requests' events nor the connections. Stream pool's thread only.
class HttpWholeCall final : public CompletionSink, public std::enable_shared_from_this<HttpWholeCall> {
 public:
  /// Workers and clock are lent.
  HttpWholeCall(std::shared_ptr<HttpExchange> exchange, std::unique_ptr<AnswerFormat> format, HttpAnswerTerms terms,
                HttpWorkers& workers, const Clock& clock)
      : exchange_(std::move(exchange)),
        format_(std::move(format)),
        terms_(std::move(terms)),
        workers_(workers),
        clock_(clock) {}

  Delivery deliver(CompletionEvent event) override;

 private:
  void answer();

  const std::shared_ptr<HttpExchange> exchange_;
  const std::unique_ptr<AnswerFormat> format_;
  const HttpAnswerTerms terms_;
  HttpWorkers& workers_;
  const Clock& clock_;
  CompletionCollector collector_;  // a worker's once the last event has come
  size_t token_count_ = 0;
};

}  // namespace sluice::server
