#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "server/answer_format.h"

namespace sluice::server {

// What both formats are made of.

/// The members that every answer and chunk begins with, and its empty list of choices.
Json answer_head(const AnswerTraits& traits, std::string_view object);
/// The text of an answer in one piece. Choices are made and written one at a time, since as values they take many times
/// the memory of their text.
std::string write_answer(const AnswerTraits& traits, std::string_view object, const Completion& completion,
                         TimePoint now, const std::function<Json(size_t index)>& make_choice);
Json usage_json(const Usage& usage);
/// Where the time went, in milliseconds; a member of its own, which OpenAI's clients pass over.
Json ledger_json(const RequestTiming& timing, TimePoint now);
std::string_view finish_reason(const ChoiceEnd& end);

/// A token's text. One that is not whole characters is written as its bytes, "bytes:\xf0\x9f", as OpenAI does.
std::string token_text(const engine::Tokenizer& tokenizer, int32_t id);
Json token_bytes_json(const engine::Tokenizer& tokenizer, int32_t id);

/// The usage chunk of a stream that asked for it.
Json usage_chunk(const AnswerTraits& traits, std::string_view object, const Totals& totals, TimePoint now);
/// The chunk that ends a stream's last choice; with the ledger, unless that comes in the usage chunk.
void add_totals(Json& chunk, const AnswerTraits& traits, const ChoiceEnd& end, TimePoint now);

}  // namespace sluice::server
