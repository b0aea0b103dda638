#include "bench/openai_answer.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

using Json = nlohmann::json;

constexpr size_t kRefusalBytesMax = 4096;
constexpr size_t kQuotedBytesMax = 200;
constexpr int kOk = 200;

/// What a person needs of a body that may hold anything: one line.
std::string one_line(std::string_view text) {
  std::string line(text.substr(0, kQuotedBytesMax));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

/// The message of {"error": {"message": …}} or {"error": …}, or all of it.
std::string error_text(const Json& body, std::string_view text) {
  if (!body.is_object() || !body.contains("error")) return one_line(text);
  const Json& error = body["error"];
  if (error.is_string()) return one_line(error.get_ref<const std::string&>());
  if (error.is_object() && error.contains("message") && error["message"].is_string()) {
    return one_line(error["message"].get_ref<const std::string&>());
  }
  return one_line(text);
}

StatusCode code_of(int http_status) {
  switch (http_status) {
    case 400:
      return StatusCode::kInvalidArgument;
    case 401:
      return StatusCode::kUnauthenticated;
    case 403:
      return StatusCode::kPermissionDenied;
    case 404:
      return StatusCode::kNotFound;
    case 408:
    case 504:
      return StatusCode::kDeadlineExceeded;
    case 429:
      return StatusCode::kResourceExhausted;
    case 503:
      return StatusCode::kUnavailable;
    default:
      return StatusCode::kInternal;
  }
}

std::string_view text_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return {};
  return found->get_ref<const std::string&>();
}

/// Of a choice of either form; what a model thinks before it answers is part of the answer too.
std::string_view text_of(const Json& choice) {
  if (const std::string_view text = text_member(choice, "text"); !text.empty()) return text;
  const auto delta = choice.find("delta");
  if (delta == choice.end() || !delta->is_object()) return {};
  for (const char* const name : {"content", "reasoning_content", "reasoning"}) {
    if (const std::string_view text = text_member(*delta, name); !text.empty()) return text;
  }
  return {};
}

bool calls_tools(const Json& choice) {
  const auto delta = choice.find("delta");
  if (delta == choice.end() || !delta->is_object()) return false;
  const auto calls = delta->find("tool_calls");
  return calls != delta->end() && calls->is_array() && !calls->empty();
}

int32_t count_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return 0;
  return static_cast<int32_t>(std::min<uint64_t>(found->get<uint64_t>(), INT32_MAX));
}

}  // namespace

OpenAiAnswer::OpenAiAnswer(AnswerSink& sink)
    : sink_(&sink), reader_([this](std::string_view data) { on_data(data); }) {}

void OpenAiAnswer::on_head(int status, std::string_view content_type) {
  status_ = status;
  is_stream_ = status == kOk && content_type.starts_with("text/event-stream");
}

void OpenAiAnswer::on_body(std::string_view piece) {
  if (sink_ == nullptr) return;
  if (!is_stream_) {
    refusal_ += piece.substr(0, kRefusalBytesMax - std::min(refusal_.size(), kRefusalBytesMax));
    return;
  }
  if (!reader_.read(piece)) fail("BAD_STREAM", internal_error("this is no event stream: " + one_line(piece)));
}

void OpenAiAnswer::on_body_end() {
  if (is_stream_) return fail("NO_DONE", internal_error("the stream ended without [DONE]"));
  const std::string text = error_text(Json::parse(refusal_, nullptr, /*allow_exceptions=*/false), refusal_);
  if (status_ == kOk) return fail("NOT_A_STREAM", internal_error("the answer is no event stream: " + text));
  const std::string number = std::to_string(status_);
  fail("HTTP_" + number, Status(code_of(status_), "HTTP " + number + ": " + text));
}

void OpenAiAnswer::fail(const std::string& kind, const Status& status) {
  end(Failure{.status = status, .kind = kind});
}

void OpenAiAnswer::on_data(std::string_view data) {
  if (sink_ == nullptr) return;
  if (data != "[DONE]") return read_chunk(data);
  if (has_text_ || has_finish_reason_) return end(std::nullopt);
  fail("EMPTY_ANSWER", internal_error("the stream ended without any text and without a reason to finish"));
}

void OpenAiAnswer::read_chunk(std::string_view data) {
  const Json chunk = Json::parse(data, nullptr, /*allow_exceptions=*/false);
  if (!chunk.is_object()) return fail("BAD_STREAM", internal_error("an event is no JSON object: " + one_line(data)));
  if (chunk.contains("error") && !chunk["error"].is_null())
    return fail("ERROR_EVENT", internal_error(error_text(chunk, data)));
  const auto choices = chunk.find("choices");
  if (choices != chunk.end() && choices->is_array() && !choices->empty() && choices->front().is_object()) {
    const Json& choice = choices->front();
    const std::string_view text = text_of(choice);
    has_finish_reason_ = has_finish_reason_ || !text_member(choice, "finish_reason").empty();
    if (!text.empty() || calls_tools(choice)) {
      has_text_ = true;
      sink_->on_piece({.tokens = 1, .text = text, .ids = {}});
    }
  }
  const auto usage = chunk.find("usage");
  if (usage == chunk.end() || !usage->is_object() || !usage->contains("completion_tokens")) return;
  sink_->on_usage(count_member(*usage, "prompt_tokens"), count_member(*usage, "completion_tokens"));
}

void OpenAiAnswer::end(std::optional<Failure> failure) {
  if (sink_ != nullptr) std::exchange(sink_, nullptr)->on_end(std::move(failure));
}

}  // namespace sluice::bench
