#include "server/http_completion.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "server/answer_format.h"
#include "server/config_value.h"
#include "server/http_answer_terms.h"
#include "server/http_call_terms.h"
#include "server/http_stream_call.h"
#include "server/http_whole_call.h"

namespace sluice::server {
namespace {

constexpr size_t kIgnoredNamesMax = 16;
constexpr size_t kIgnoredNameBytesMax = 64;

Result<CompletionAsk> read_completion(const std::string& body) {
  SLUICE_ASSIGN_OR_RETURN(const Json json, parse_json(body));
  return parse_completion_ask(json);
}

/// A conversation is a completion of the prompt that the model's template makes of it.
Result<CompletionAsk> read_chat(const HttpFront& front, const std::string& body) {
  SLUICE_ASSIGN_OR_RETURN(const Json json, parse_json(body));
  SLUICE_ASSIGN_OR_RETURN(ChatAsk ask, parse_chat_ask(json));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int32_t> prompt, front.chat_prompter(std::move(ask.prompt)));
  ask.request.mutable_token_ids()->mutable_ids()->Add(prompt.begin(), prompt.end());
  return CompletionAsk{std::move(ask.request), std::move(ask.wish)};
}

std::string hexadecimal(int64_t value) {
  std::array<char, 16> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return {digits.data(), end};
}

/// Differs from those of other requests and of this daemon's other lives.
std::string answer_id(const HttpFront& front, RequestId id, AskKind kind) {
  return (kind == AskKind::kChat ? "chatcmpl-" : "cmpl-") + hexadecimal(front.started) + '-' + std::to_string(id.value);
}

/// Of names that a client chose, what a header may hold.
std::string ignored_names(const std::vector<std::string>& names) {
  std::string list;
  for (size_t i = 0; i < names.size() && i < kIgnoredNamesMax; ++i)
    list += (i == 0 ? "" : ", ") + shown(names[i], kIgnoredNameBytesMax);
  if (names.size() > kIgnoredNamesMax) list += ", ...";
  return list;
}

std::unique_ptr<AnswerFormat> make_format(const HttpFront& front, const CompletionAsk& ask, AskKind kind,
                                          std::string id) {
  const v1::CompleteRequest& request = ask.request;
  AnswerTraits traits{.id = std::move(id),
                      .created = front.seconds_now(),
                      .model = front.intake.model(),
                      .choice_count = request.has_n() ? request.n() : 1,
                      .reports_logprobs = request.response().has_logprobs(),
                      .include_usage = ask.wish.include_usage};
  return kind == AskKind::kChat ? chat_completion_format(std::move(traits)) : text_completion_format(std::move(traits));
}

/// One request on its way in.
class Submission {
 public:
  Submission(const HttpFront& front, HttpWorkers& workers, std::shared_ptr<HttpExchange> exchange, AskKind kind)
      : front_(front),
        workers_(workers),
        exchange_(std::move(exchange)),
        id_(front.intake.next_id()),
        answer_id_(answer_id(front, id_, kind)) {
    terms_.kind = kind;
    terms_.headers.emplace_back("x-request-id", request_id(exchange_->request(), answer_id_));
  }

  void run() {
    const Status status = read_and_submit();
    if (!status.ok()) return exchange_->answer(terms_.refusal(status));
    // The client may have gone before there was anything to cancel.
    if (exchange_->is_closed()) front_.intake.cancel(id_);
  }

 private:
  Status read_and_submit() {
    Result<CallTerms> terms = call_terms(exchange_->request(), front_);
    if (!terms.ok()) return refuse(terms.status());
    const std::string& body = exchange_->request().body;
    const Result<CompletionAsk> ask = terms_.kind == AskKind::kChat ? read_chat(front_, body) : read_completion(body);
    exchange_->drop_body();
    if (!ask.ok()) return refuse(ask.status(), terms->caller.tenant);
    if (!ask->wish.ignored.empty()) terms_.headers.emplace_back("x-sluice-ignored", ignored_names(ask->wish.ignored));
    terms->answer_bytes_max = answer_bytes_max(*ask);
    terms->kind = terms_.kind;
    exchange_->when_closed([&intake = front_.intake, id = id_](HttpEnd end) {
      if (end == HttpEnd::kClientGone) intake.cancel(id);
    });
    return front_.intake.submit(id_, ask->request, *terms, make_sink(*ask));
  }

  /// As the core counts, which has an echo once; here it stands in every choice.
  int64_t answer_bytes_max(const CompletionAsk& ask) const {
    const bool repeats_echo = ask.request.response().echo() && ask.request.n() > 1;
    if (repeats_echo) return front_.answer_bytes_max / ask.request.n();
    return ask.wish.is_stream ? CallTerms().answer_bytes_max : front_.answer_bytes_max;
  }

  Status refuse(const Status& status, std::optional<std::string_view> tenant = {}) {
    const bool is_invalid = status.code() == StatusCode::kInvalidArgument;
    return front_.intake.refuse(is_invalid ? Outcome::kInvalid : Outcome::kRefused, status, tenant);
  }

  std::shared_ptr<CompletionSink> make_sink(const CompletionAsk& ask) const {
    std::unique_ptr<AnswerFormat> format = make_format(front_, ask, terms_.kind, answer_id_);
    const Clock& clock = front_.intake.clock();
    if (!ask.wish.is_stream)
      return std::make_shared<HttpWholeCall>(exchange_, std::move(format), terms_, workers_, clock);
    HttpAnswerTerms terms = terms_;
    terms.headers.emplace_back("Cache-Control", "no-cache");
    return std::make_shared<HttpStreamCall>(exchange_, std::move(format), std::move(terms), front_.stream_buffer_tokens,
                                            clock);
  }

  const HttpFront& front_;
  HttpWorkers& workers_;
  const std::shared_ptr<HttpExchange> exchange_;
  const RequestId id_;
  const std::string answer_id_;
  HttpAnswerTerms terms_;
};

}  // namespace

void serve_completion(const HttpFront& front, HttpWorkers& workers, const std::shared_ptr<HttpExchange>& exchange,
                      AskKind kind) {
  Submission(front, workers, exchange, kind).run();
}

}  // namespace sluice::server
