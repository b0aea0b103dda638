#include "server/completion_collector.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::server {

namespace {

void append(std::vector<TokenReport>& to, std::vector<TokenReport>& from) {
  std::ranges::move(from, std::back_inserter(to));
}

}  // namespace

void CompletionCollector::add(CompletionEvent event) {
  std::visit([this](auto&& what) { on(std::forward<decltype(what)>(what)); }, std::move(event));
}

/// A choice begins with its first event; the last index is not known before.
CollectedChoice& CompletionCollector::choice(int32_t index) {
  const auto place = static_cast<size_t>(index);
  if (completion_.choices.size() <= place) completion_.choices.resize(place + 1);
  return completion_.choices[place];
}

void CompletionCollector::on(RequestOpened opened) {
  completion_.opened = opened;
}

void CompletionCollector::on(const RequestDenied& denied) {
  status_ = denied.status;
}

void CompletionCollector::on(PromptEcho echo) {
  append(completion_.prompt_tokens, echo.tokens);
}

void CompletionCollector::on(ChoiceText piece) {
  CollectedChoice& to = choice(piece.choice);
  to.text += piece.text;
  append(to.tokens, piece.tokens);
}

void CompletionCollector::on(ChoiceEnd end) {
  if (end.totals) completion_.totals = *end.totals;
  CollectedChoice& to = choice(end.choice);
  to.end = std::move(end);
}

void CompletionCollector::on(const RequestError& error) {
  status_ = error.status;
}

}  // namespace sluice::server
