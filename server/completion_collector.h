#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/completion_event.h"

namespace sluice::server {

/// One choice of a whole answer.
struct CollectedChoice {
  std::string text;
  std::vector<TokenReport> tokens;
  ChoiceEnd end;
};

/// A whole answer, for a client that does not stream.
struct Completion {
  RequestOpened opened;
  std::vector<TokenReport> prompt_tokens;
  std::vector<CollectedChoice> choices;  ///< by index
  Totals totals;
};

/// Puts a request's events together. One thread.
class CompletionCollector {
 public:
  void add(CompletionEvent event);
  /// What failed; OK when the answer is whole. After the last event.
  const Status& status() const { return status_; }
  /// After the last event, when status() is OK.
  const Completion& completion() const { return completion_; }

 private:
  void on(RequestOpened opened);
  void on(const RequestDenied& denied);
  void on(PromptEcho echo);
  void on(ChoiceText piece);
  void on(ChoiceEnd end);
  void on(const RequestError& error);
  CollectedChoice& choice(int32_t index);

  Completion completion_;
  Status status_;
};

}  // namespace sluice::server
