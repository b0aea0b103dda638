#pragma once

#include <memory>

#include "base/mutex.h"
#include "server/answer_format.h"
#include "server/completion_sink.h"
#include "server/http_answer_terms.h"
#include "server/http_exchange.h"
#include "server/stream_buffer.h"

namespace sluice::server {

/// A completion that is told as server-sent events. The header is sent once the request is accepted; a request that is
/// not gets an ordinary error. The stream ends with `[DONE]`, or with one `error` event and no `[DONE]`. What the
/// connection doesn't take yet waits in the buffer. Thread-safe.
class HttpStreamCall final : public CompletionSink,
                             public HttpBodySource,
                             public std::enable_shared_from_this<HttpStreamCall> {
 public:
  /// The clock is lent.
  HttpStreamCall(std::shared_ptr<HttpExchange> exchange, std::unique_ptr<AnswerFormat> format, HttpAnswerTerms terms,
                 int32_t buffer_tokens, const Clock& clock);

  Delivery deliver(CompletionEvent event) override;
  Piece next(size_t bytes_max) override;

 private:
  std::string tell(const CompletionEvent& event);

  const std::shared_ptr<HttpExchange> exchange_;
  const std::unique_ptr<AnswerFormat> format_;  // I/O thread only
  const HttpAnswerTerms terms_;
  const Clock& clock_;

  Mutex mutex_;
  StreamBuffer buffer_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::server
