#include <optional>
#include <utility>

#include "engine/detokenizer.h"
#include "server/answer_format.h"
#include "server/answer_parts.h"
#include "server/http_message.h"

namespace sluice::server {
namespace {

constexpr std::string_view kObject = "text_completion";

int32_t count_characters(std::string_view text) {
  int32_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

/// Where tokens begin in the text they make, in characters.
class TextOffsets {
 public:
  TextOffsets(const engine::Tokenizer& tokenizer, engine::TextExtent extent) : detokenizer_(tokenizer, extent) {}

  /// The token's offset; it is the next one.
  int32_t next(int32_t id) {
    const int32_t begin = characters_;
    characters_ += count_characters(detokenizer_.push(id));
    return begin;
  }
  /// The prompt ends; the answer's characters begin anew.
  void end_prompt() { characters_ += count_characters(detokenizer_.flush()); }

 private:
  engine::Detokenizer detokenizer_;
  int32_t characters_ = 0;
};

class TextCompletionFormat final : public AnswerFormat {
 public:
  explicit TextCompletionFormat(AnswerTraits traits)
      : traits_(std::move(traits)),
        tokenizer_(*traits_.model.tokenizer),
        prompt_(tokenizer_, engine::TextExtent::kWhole) {}

  std::string whole(const Completion& completion, TimePoint now) override {
    std::string prompt = echo_text(completion.prompt_tokens);
    prompt += prompt_.flush();
    return write_answer(traits_, kObject, completion, now, [&](size_t i) {
      const CollectedChoice& choice = completion.choices[i];
      Json logprobs = nullptr;
      if (traits_.reports_logprobs) {
        logprobs = empty_logprobs();
        TextOffsets& offsets = offsets_of(static_cast<int32_t>(i));
        add_logprobs(logprobs, completion.prompt_tokens, offsets);
        offsets.end_prompt();
        add_logprobs(logprobs, choice.tokens, offsets);
      }
      return choice_json(static_cast<int32_t>(i), prompt + choice.text, std::move(logprobs), &choice.end);
    });
  }

  std::vector<Json> chunks(const CompletionEvent& event, TimePoint now) override {
    std::vector<Json> chunks;
    if (const auto* echo = std::get_if<PromptEcho>(&event)) {
      add_echo(chunks, echo_text(echo->tokens), echo->tokens);
    } else if (const auto* piece = std::get_if<ChoiceText>(&event)) {
      end_echo(chunks);
      add_piece(chunks, *piece);
    } else if (const auto* end = std::get_if<ChoiceEnd>(&event)) {
      end_echo(chunks);
      add_end(chunks, *end, now);
    } else if (const auto* error = std::get_if<RequestError>(&event)) {
      chunks.push_back(error_body(error->status));
    }
    return chunks;
  }

 private:
  static Json empty_logprobs() {
    return {{"tokens", Json::array()},      {"token_logprobs", Json::array()}, {"top_logprobs", Json::array()},
            {"text_offset", Json::array()}, {"token_ids", Json::array()},      {"bytes", Json::array()}};
  }

  void add_logprobs(Json& logprobs, const std::vector<TokenReport>& tokens, TextOffsets& offsets) const {
    for (const TokenReport& token : tokens) {
      logprobs["tokens"].push_back(token_text(tokenizer_, token.id));
      logprobs["token_logprobs"].push_back(token.logprob ? Json(*token.logprob) : Json(nullptr));
      logprobs["top_logprobs"].push_back(token.logprob ? top_json(token) : Json(nullptr));
      logprobs["text_offset"].push_back(offsets.next(token.id));
      logprobs["token_ids"].push_back(token.id);
      logprobs["bytes"].push_back(token_bytes_json(tokenizer_, token.id));
    }
  }

  /// The likeliest tokens by their text, and the one that was drawn even if it isn't among them.
  Json top_json(const TokenReport& token) const {
    Json top = Json::object();
    for (const engine::TokenLogprob& alternative : token.top)
      top[token_text(tokenizer_, alternative.token)] = alternative.logprob;
    if (!token.top.empty()) top[token_text(tokenizer_, token.id)] = *token.logprob;
    return top;
  }

  static Json choice_json(int32_t index, std::string text, Json logprobs, const ChoiceEnd* end) {
    Json choice = {{"index", index}, {"text", std::move(text)}, {"logprobs", std::move(logprobs)}};
    choice["finish_reason"] = end == nullptr ? Json(nullptr) : Json(finish_reason(*end));
    return choice;
  }

  /// A choice begins with its first token: how many there may be is the core's to check.
  TextOffsets& offsets_of(int32_t choice) {
    while (offsets_.size() <= static_cast<size_t>(choice)) offsets_.emplace_back(tokenizer_, extent_);
    return offsets_[static_cast<size_t>(choice)];
  }

  std::string echo_text(const std::vector<TokenReport>& tokens) {
    if (!tokens.empty()) extent_ = engine::TextExtent::kWhole;
    std::string text;
    for (const TokenReport& token : tokens) text += prompt_.push(token.id);
    return text;
  }

  void add_chunk(std::vector<Json>& chunks, Json choice) const {
    Json chunk = answer_head(traits_, kObject);
    chunk["choices"].push_back(std::move(choice));
    if (traits_.include_usage) chunk["usage"] = nullptr;
    chunks.push_back(std::move(chunk));
  }

  /// The prompt is told in every choice.
  void add_echo(std::vector<Json>& chunks, const std::string& text, const std::vector<TokenReport>& tokens) {
    for (int32_t i = 0; i < traits_.choice_count; ++i) {
      Json logprobs = nullptr;
      if (traits_.reports_logprobs) {
        logprobs = empty_logprobs();
        add_logprobs(logprobs, tokens, offsets_of(i));
      }
      add_chunk(chunks, choice_json(i, text, std::move(logprobs), nullptr));
    }
  }

  /// What the prompt's last tokens leave half said, before the first piece of the answer.
  void end_echo(std::vector<Json>& chunks) {
    if (is_prompt_told_) return;
    is_prompt_told_ = true;
    for (TextOffsets& offsets : offsets_) offsets.end_prompt();
    const std::string rest = prompt_.flush();
    if (!rest.empty()) add_echo(chunks, rest, {});
  }

  void add_piece(std::vector<Json>& chunks, const ChoiceText& piece) {
    if (piece.text.empty() && !traits_.reports_logprobs) return;
    Json logprobs = nullptr;
    if (traits_.reports_logprobs) {
      logprobs = empty_logprobs();
      add_logprobs(logprobs, piece.tokens, offsets_of(piece.choice));
    }
    add_chunk(chunks, choice_json(piece.choice, piece.text, std::move(logprobs), nullptr));
  }

  void add_end(std::vector<Json>& chunks, const ChoiceEnd& end, TimePoint now) const {
    add_chunk(chunks, choice_json(end.choice, "", nullptr, &end));
    add_totals(chunks.back(), traits_, end, now);
    if (traits_.include_usage && end.totals) chunks.push_back(usage_chunk(traits_, kObject, *end.totals, now));
  }

  const AnswerTraits traits_;
  const engine::Tokenizer& tokenizer_;
  engine::Detokenizer prompt_;
  engine::TextExtent extent_ = engine::TextExtent::kContinuation;  ///< of what is told: an echo begins it
  std::vector<TextOffsets> offsets_;                               // by choice
  bool is_prompt_told_ = false;
};

}  // namespace

std::unique_ptr<AnswerFormat> text_completion_format(AnswerTraits traits) {
  return std::make_unique<TextCompletionFormat>(std::move(traits));
}

}  // namespace sluice::server
