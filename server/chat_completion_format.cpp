#include <utility>

#include "server/answer_format.h"
#include "server/answer_parts.h"
#include "server/http_message.h"

namespace sluice::server {
namespace {

constexpr std::string_view kObject = "chat.completion";
constexpr std::string_view kChunkObject = "chat.completion.chunk";

class ChatCompletionFormat final : public AnswerFormat {
 public:
  explicit ChatCompletionFormat(AnswerTraits traits)
      : traits_(std::move(traits)), tokenizer_(*traits_.model.tokenizer) {}

  std::string whole(const Completion& completion, TimePoint now) override {
    return write_answer(traits_, kObject, completion, now, [&](size_t i) -> Json {
      const CollectedChoice& choice = completion.choices[i];
      return {{"index", i},
              {"message", {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}}},
              {"logprobs", logprobs_json(choice.tokens)},
              {"finish_reason", finish_reason(choice.end)}};
    });
  }

  std::vector<Json> chunks(const CompletionEvent& event, TimePoint now) override {
    std::vector<Json> chunks;
    if (std::holds_alternative<RequestOpened>(event)) {
      for (int32_t i = 0; i < traits_.choice_count; ++i)
        add_chunk(chunks, i, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
    } else if (const auto* piece = std::get_if<ChoiceText>(&event)) {
      if (piece->text.empty() && !traits_.reports_logprobs) return chunks;
      add_chunk(chunks, piece->choice, {{"content", piece->text}}, logprobs_json(piece->tokens), nullptr);
    } else if (const auto* end = std::get_if<ChoiceEnd>(&event)) {
      add_chunk(chunks, end->choice, Json::object(), nullptr, finish_reason(*end));
      add_totals(chunks.back(), traits_, *end, now);
      if (traits_.include_usage && end->totals) chunks.push_back(usage_chunk(traits_, kChunkObject, *end->totals, now));
    } else if (const auto* error = std::get_if<RequestError>(&event)) {
      chunks.push_back(error_body(error->status));
    }
    return chunks;
  }

 private:
  Json logprobs_json(const std::vector<TokenReport>& tokens) const {
    if (!traits_.reports_logprobs) return nullptr;
    Json content = Json::array();
    for (const TokenReport& token : tokens) {
      Json entry = token_json(token.id, token.logprob.value_or(0));
      entry["top_logprobs"] = Json::array();
      for (const engine::TokenLogprob& alternative : token.top)
        entry["top_logprobs"].push_back(token_json(alternative.token, alternative.logprob));
      content.push_back(std::move(entry));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }

  Json token_json(int32_t id, float logprob) const {
    return {{"token", token_text(tokenizer_, id)},
            {"logprob", logprob},
            {"bytes", token_bytes_json(tokenizer_, id)},
            {"token_id", id}};
  }

  void add_chunk(std::vector<Json>& chunks, int32_t index, Json delta, Json logprobs, Json finish) const {
    Json chunk = answer_head(traits_, kChunkObject);
    chunk["choices"].push_back({{"index", index},
                                {"delta", std::move(delta)},
                                {"logprobs", std::move(logprobs)},
                                {"finish_reason", std::move(finish)}});
    if (traits_.include_usage) chunk["usage"] = nullptr;
    chunks.push_back(std::move(chunk));
  }

  const AnswerTraits traits_;
  const engine::Tokenizer& tokenizer_;
};

}  // namespace

std::unique_ptr<AnswerFormat> chat_completion_format(AnswerTraits traits) {
  return std::make_unique<ChatCompletionFormat>(std::move(traits));
}

}  // namespace sluice::server
