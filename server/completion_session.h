#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/detokenizer.h"
#include "engine/stop_matcher.h"
#include "scheduler/mailbox.h"
#include "scheduler/token_event.h"
#include "server/answer_terms.h"
#include "server/completion_sink.h"
#include "server/key_use.h"
#include "server/latency_window.h"
#include "server/metrics.h"
#include "server/request_record.h"
#include "server/session.h"

namespace sluice::server {

/// What every session works with; all of it is lent and outlives the sessions.
struct SessionServices {
  const engine::Tokenizer& tokenizer;
  scheduler::Mailbox& mailbox;  ///< for the cancels that a stop string or a slow reader causes
  Metrics& metrics;
  const Clock& clock;
  RequestObserver* journal = nullptr;  ///< told of every request that ends; null: nobody is
  RecentLatencies* recent = nullptr;   ///< null: nobody looks
  double trace_ratio = 0;              ///< of requests that begin a trace, the share that is sampled
};

/// Turns the loop's events of one request into what its client is told: tokens into text, stop strings into ends,
/// ledgers into totals.
///
/// A choice that a stop string ended is told as ended when the loop has confirmed the cancel, one step later, because
/// the ledger comes from there. A request whose reader is too slow ends with RequestError RESOURCE_EXHAUSTED. Usage
/// counts every token drawn, the end token too, up to the one that completed a stop string. One thread.
class CompletionSession final : public Session {
 public:
  /// The lease is held until the last event.
  CompletionSession(RequestId id, AnswerTerms terms, const SessionServices& services,
                    std::shared_ptr<CompletionSink> sink, KeyUse::Lease lease = {});

  void take(scheduler::TokenEvent event) override;
  /// As RequestFailed without a ledger.
  void abandon(const Status& status) override;
  bool done() const override { return done_; }

 private:
  struct Choice {
    Choice(const engine::Tokenizer& tokenizer, const std::vector<std::string>& stops)
        : detokenizer(tokenizer), stop_matcher(stops) {}

    engine::Detokenizer detokenizer;
    engine::StopMatcher stop_matcher;
    int32_t token_count = 0;  ///< as usage counts them
    TimePoint first_token;
    TimePoint last_token;
    std::optional<int32_t> stop_token_id;
    bool ended = false;  ///< the loop has confirmed the end
  };

  void on(const scheduler::Accepted& accepted);
  void on(const scheduler::Refused& refused);
  void on(const scheduler::PromptScored& scored);
  void on(const scheduler::TokenSampled& sampled);
  void on(const scheduler::SequenceFinished& finished);
  void on(const scheduler::RequestFailed& failed);
  void on(const scheduler::Explained& explained);

  bool is_muted() const { return reader_gone_ || too_slow_; }
  void tell(CompletionEvent event);
  void echo_prompt(std::vector<TokenReport> tokens);
  std::string next_text(Choice& choice, int32_t token);
  void count_token(Choice& choice, const scheduler::TokenSampled& sampled);
  void observe_first_token(TimePoint time);
  void observe_token_gap(TimePoint time, Duration gap);
  void observe_sequence(const scheduler::Ledger& ledger);
  void flush_text(int32_t index);
  ChoiceEnd end_of(int32_t index, scheduler::FinishReason reason) const;
  void tell_last_end(int32_t index, scheduler::FinishReason reason, const scheduler::Ledger& ledger);
  void note_reason(int32_t index, scheduler::FinishReason reason);
  void fail(const Status& status, const scheduler::Ledger& ledger);
  void finish(Outcome outcome, const scheduler::Ledger& ledger, std::string error = {});
  void record(Outcome outcome, const std::optional<RequestTiming>& timing, TimePoint now, std::string error) const;
  Outcome outcome_of_ends() const;
  Usage usage() const;
  RequestTiming timing(const scheduler::Ledger& ledger) const;
  TokenReport report(const engine::SampledToken& token) const;

  const RequestId id_;
  const AnswerTerms terms_;
  const SessionServices services_;
  const std::shared_ptr<CompletionSink> sink_;
  KeyUse::Lease lease_;          // given back before the last event: its reader may ask again at once
  std::vector<Choice> choices_;  // [choice_count]
  int32_t open_choices_;
  int32_t echoed_tokens_ = 0;
  std::optional<TimePoint> first_token_;  ///< over all choices
  std::optional<Duration> queue_;         ///< of the choice that was admitted first
  int32_t cached_tokens_ = 0;
  bool any_cancelled_ = false;  ///< by the client
  bool any_stop_ = false;       ///< by a token or a string
  bool reader_gone_ = false;
  bool too_slow_ = false;
  bool done_ = false;
};

}  // namespace sluice::server
