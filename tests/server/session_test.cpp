#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/loop_stats.h"
#include "server/completion_collector.h"
#include "server/completion_session.h"
#include "tests/server/byte_model.h"

namespace sluice::server {
namespace {

using scheduler::FinishReason;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr RequestId kRequest{7};
constexpr Duration kMs = std::chrono::milliseconds(1);

/// Keeps what it is told; becomes slow or gone when a test says so.
class RecordingSink final : public CompletionSink {
 public:
  Delivery deliver(CompletionEvent event) override {
    if (answer != Delivery::kTaken && !is_last(event)) return answer;
    events.push_back(std::move(event));
    return Delivery::kTaken;
  }

  template <typename Event>
  std::vector<Event> all() const {
    std::vector<Event> found;
    for (const CompletionEvent& event : events) {
      if (const auto* match = std::get_if<Event>(&event)) found.push_back(*match);
    }
    return found;
  }

  std::string text(int32_t choice = 0) const {
    std::string text;
    for (const ChoiceText& piece : all<ChoiceText>()) {
      if (piece.choice == choice) text += piece.text;
    }
    return text;
  }

  std::vector<int32_t> ids(int32_t choice = 0) const {
    std::vector<int32_t> ids;
    for (const ChoiceText& piece : all<ChoiceText>()) {
      for (const TokenReport& token : piece.tokens) {
        if (piece.choice == choice) ids.push_back(token.id);
      }
    }
    return ids;
  }

  std::vector<CompletionEvent> events;
  Delivery answer = Delivery::kTaken;
};

/// A session with the byte tokenizer, played by hand: the test is the loop.
class Session : public ::testing::Test {
 protected:
  Session() {
    terms_.stop_token_ids = {kEnd};
    terms_.prompt_tokens = 2;
    terms_.arrival = clock_.now();
  }

  void open() {
    session_ = std::make_unique<CompletionSession>(
        kRequest, terms_,
        SessionServices{
            .tokenizer = *tokenizer_, .mailbox = mailbox_, .metrics = metrics_, .clock = clock_, .recent = &recent_},
        sink_);
    take(scheduler::Accepted{});
  }

  template <typename What>
  void take(What what) {
    session_->take({kRequest, std::move(what)});
  }

  void token(int32_t id, int32_t sequence = 0) {
    clock_.advance(kMs);
    engine::SampledToken sampled{.token = id, .logprob = -0.25F, .top = {{id, -0.25F}}};
    take(scheduler::TokenSampled{sequence, sampled, clock_.now()});
  }

  void text(std::string_view bytes, int32_t sequence = 0) {
    for (const int32_t id : byte_ids(bytes)) token(id, sequence);
  }

  void finish(FinishReason reason, int32_t sequence = 0) {
    scheduler::Ledger ledger;
    ledger.arrival = terms_.arrival;
    ledger.finished = clock_.now();
    ledger.last_token = clock_.now();
    ledger.output_tokens = 1;
    ledger.queue = 2 * kMs;
    take(scheduler::SequenceFinished{sequence, reason, ledger});
  }

  std::vector<scheduler::Command> commands() {
    std::vector<scheduler::Command> taken;
    mailbox_.take(taken);
    return taken;
  }

  ChoiceEnd last_end() const { return sink_->all<ChoiceEnd>().back(); }
  std::string scrape() const { return metrics_.scrape(); }

  const std::unique_ptr<engine::Tokenizer> tokenizer_ = byte_tokenizer();
  ManualClock clock_;
  scheduler::LoopStats stats_;
  Metrics metrics_{stats_, clock_, {}};
  RecentLatencies recent_;
  scheduler::Mailbox mailbox_{10};
  const std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  AnswerTerms terms_;
  std::unique_ptr<CompletionSession> session_;
};

using B01_Utf8 = Session;
using B02_StopString = Session;
using B03_StopLogprobs = Session;
using B17_Echo = Session;
using B25_Latency = Session;

TEST_F(Session, ARefusedRequestIsToldOnceAndIsDone) {
  session_ = std::make_unique<CompletionSession>(kRequest, terms_,
                                                 SessionServices{*tokenizer_, mailbox_, metrics_, clock_}, sink_);
  take(scheduler::Refused{resource_exhausted("full").with_retry_after_ms(5)});
  ASSERT_THAT(sink_->events, SizeIs(1));
  EXPECT_EQ(std::get<RequestDenied>(sink_->events[0]).status.retry_after_ms(), 5);
  EXPECT_TRUE(session_->done());
  EXPECT_THAT(scrape(), HasSubstr("outcome=\"refused\"} 1"));
}

TEST_F(Session, AFailureEndsTheRequestWithOneErrorAndTheUsageSoFar) {
  open();
  text("ab");
  scheduler::Ledger ledger;
  ledger.arrival = terms_.arrival;
  take(scheduler::RequestFailed{deadline_exceeded("too late"), ledger});
  const auto errors = sink_->all<RequestError>();
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(errors[0].totals.usage.completion_tokens, 2);
  EXPECT_THAT(sink_->all<ChoiceEnd>(), IsEmpty());
  EXPECT_TRUE(session_->done());
  EXPECT_THAT(scrape(), HasSubstr("outcome=\"deadline\"} 1"));
}

TEST_F(Session, ASlowReaderEndsItsRequestWithAnErrorOnceTheLoopHasLetGo) {
  open();
  text("a");
  sink_->answer = Delivery::kTooSlow;
  text("bcd");
  const auto taken = commands();
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(std::get<scheduler::Cancel>(taken[0]).request, kRequest);
  EXPECT_EQ(std::get<scheduler::Cancel>(taken[0]).sequence, std::nullopt);
  EXPECT_FALSE(session_->done());
  finish(FinishReason::kCancelled);
  const auto errors = sink_->all<RequestError>();
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(errors[0].status.message(), HasSubstr("reader too slow"));
  EXPECT_THAT(sink_->all<ChoiceEnd>(), IsEmpty());
  EXPECT_TRUE(session_->done());
  EXPECT_THAT(scrape(), HasSubstr("outcome=\"error\"} 1"));
}

TEST_F(Session, AReaderThatIsGoneIsToldNothingMore) {
  open();
  sink_->answer = Delivery::kGone;
  text("ab");
  finish(FinishReason::kCancelled);
  EXPECT_THAT(sink_->events, SizeIs(1));
  EXPECT_TRUE(session_->done());
  EXPECT_THAT(scrape(), HasSubstr("outcome=\"cancelled\"} 1"));
}

TEST_F(Session, AbandonedItEndsWithAnError) {
  open();
  clock_.advance(kMs);
  session_->abandon(unavailable("bye"));
  ASSERT_THAT(sink_->all<RequestError>(), SizeIs(1));
  EXPECT_EQ(sink_->all<RequestError>()[0].status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(session_->done());
}

TEST_F(Session, CancelledPastTheDeadlineCountsAsDeadline) {
  terms_.deadline = clock_.now() + kMs;
  open();
  text("ab");
  finish(FinishReason::kCancelled);
  EXPECT_THAT(scrape(), HasSubstr("outcome=\"deadline\"} 1"));
}

TEST_F(B01_Utf8, c_APieceNeverHoldsHalfACharacter) {
  open();
  text("👍é");
  finish(FinishReason::kLength);
  std::vector<std::string> pieces;
  for (const ChoiceText& piece : sink_->all<ChoiceText>()) pieces.push_back(piece.text);
  EXPECT_THAT(pieces, ElementsAre("", "", "", "👍", "", "é"));
}

TEST_F(B01_Utf8, b_ACharacterThatNeverEndsBecomesOneReplacement) {
  open();
  text("\xF0\x9F");
  finish(FinishReason::kLength);
  EXPECT_EQ(sink_->text(), "\uFFFD");
  EXPECT_THAT(sink_->ids(), ElementsAre(0xF0, 0x9F));
}

TEST_F(B01_Utf8, c_TheEchoedPromptHasEveryTokenOnceWithTheFirstUnscored) {
  terms_.echoed_prompt = byte_ids("👍");
  terms_.scores_prompt = true;
  terms_.reports_logprobs = true;
  open();
  take(scheduler::PromptScored{1,
                               {{.token = 0x9F, .logprob = -1, .top = {}}, {.token = 0x91, .logprob = -2, .top = {}}}});
  take(scheduler::PromptScored{3, {{.token = 0x8D, .logprob = -3, .top = {}}}});
  text("x");
  finish(FinishReason::kLength);
  std::vector<TokenReport> prompt;
  for (const PromptEcho& echo : sink_->all<PromptEcho>()) {
    EXPECT_EQ(echo.first_position, static_cast<int32_t>(prompt.size()));
    prompt.insert(prompt.end(), echo.tokens.begin(), echo.tokens.end());
  }
  ASSERT_THAT(prompt, SizeIs(4));
  EXPECT_EQ(prompt[0].logprob, std::nullopt);
  EXPECT_EQ(prompt[1].logprob, -1);
  EXPECT_EQ(prompt[3].logprob, -3);
  EXPECT_EQ(prompt[3].id, 0x8D);
}

TEST_F(Session, AnUnscoredEchoComesAtOnceInPartsOfBoundedSize) {
  terms_.echoed_prompt = std::vector<int32_t>(600, 'a');
  open();
  std::vector<std::pair<int32_t, size_t>> parts;
  for (const PromptEcho& echo : sink_->all<PromptEcho>()) parts.emplace_back(echo.first_position, echo.tokens.size());
  EXPECT_THAT(parts, ElementsAre(std::pair(0, size_t{256}), std::pair(256, size_t{256}), std::pair(512, size_t{88})));
}

TEST_F(B17_Echo, b_AScoredPromptWithoutAnAnswerEndsWithLength) {
  terms_.echoed_prompt = byte_ids("ab");
  terms_.scores_prompt = true;
  terms_.reports_logprobs = true;
  open();
  take(scheduler::PromptScored{1, {{.token = 'b', .logprob = -1, .top = {}}}});
  finish(FinishReason::kLength);
  EXPECT_EQ(last_end().reason, FinishReason::kLength);
  EXPECT_EQ(last_end().totals->usage.completion_tokens, 0);
  EXPECT_THAT(sink_->all<ChoiceText>(), IsEmpty());
}

TEST_F(B02_StopString, a_AcrossTokensItEndsTheTextBeforeItAndCancelsTheSequence) {
  terms_.stops = {"no n"};
  open();
  text(" no ");
  EXPECT_THAT(commands(), IsEmpty());
  text("n");
  const auto taken = commands();
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(std::get<scheduler::Cancel>(taken[0]).sequence, 0);
  text("o no");  // was on its way
  EXPECT_THAT(commands(), IsEmpty());
  finish(FinishReason::kCancelled);
  EXPECT_EQ(sink_->text(), " ");
  for (const ChoiceText& piece : sink_->all<ChoiceText>()) EXPECT_EQ(piece.text.find('n'), std::string::npos);
  EXPECT_EQ(last_end().reason, FinishReason::kStop);
  EXPECT_EQ(last_end().stop, "no n");
  EXPECT_EQ(last_end().totals->usage.completion_tokens, 5);
  EXPECT_THAT(sink_->ids(), SizeIs(5));
  EXPECT_THAT(scrape(), HasSubstr("outcome=\"stop\"} 1"));
}

TEST_F(B02_StopString, a_InTheLastTokenOfAllItStillIsAStop) {
  terms_.stops = {"xy"};
  open();
  text("axy");
  finish(FinishReason::kLength);
  EXPECT_EQ(sink_->text(), "a");
  EXPECT_EQ(last_end().reason, FinishReason::kStop);
  EXPECT_EQ(last_end().stop, "xy");
}

TEST_F(B02_StopString, b_AHeldTailComesOutWhenSomethingElseEndsTheText) {
  terms_.stops = {"no x"};
  open();
  text(" no no no");
  EXPECT_EQ(sink_->text(), " no no ");
  finish(FinishReason::kLength);
  EXPECT_EQ(sink_->text(), " no no no");
  EXPECT_EQ(last_end().reason, FinishReason::kLength);
  EXPECT_EQ(last_end().stop, std::nullopt);
  EXPECT_EQ(last_end().totals->usage.completion_tokens, 9);
}

TEST_F(B02_StopString, CollectedAndStreamedAnswersAreTheSame) {
  terms_.stops = {"no x"};
  open();
  text(" no no");
  finish(FinishReason::kLength);
  CompletionCollector collector;
  for (const CompletionEvent& event : sink_->events) collector.add(event);
  EXPECT_TRUE(collector.status().ok());
  ASSERT_THAT(collector.completion().choices, SizeIs(1));
  EXPECT_EQ(collector.completion().choices[0].text, sink_->text());
  EXPECT_THAT(collector.completion().choices[0].tokens, SizeIs(6));
  EXPECT_EQ(collector.completion().totals.usage.completion_tokens, 6);
  EXPECT_EQ(collector.completion().opened.id, kRequest);
}

TEST_F(B02_StopString, OneChoiceStopsAndTheOtherGoesOn) {
  terms_.stops = {"b"};
  terms_.choice_count = 2;
  open();
  text("ab", 0);
  text("xx", 1);
  finish(FinishReason::kCancelled, 0);
  text("y", 1);
  EXPECT_EQ(sink_->all<ChoiceEnd>()[0].reason, FinishReason::kStop);
  EXPECT_EQ(sink_->all<ChoiceEnd>()[0].totals, std::nullopt);
  finish(FinishReason::kLength, 1);
  EXPECT_EQ(sink_->text(0), "a");
  EXPECT_EQ(sink_->text(1), "xxy");
  EXPECT_EQ(last_end().choice, 1);
  EXPECT_EQ(last_end().reason, FinishReason::kLength);
  EXPECT_EQ(last_end().totals->usage.completion_tokens, 5);
}

TEST_F(B02_StopString, AFailureDoesNotTakeBackWhatAStopHadEnded) {
  terms_.stops = {"b"};
  open();
  text("ab");
  take(scheduler::RequestFailed{internal_error("broken"), {}});
  EXPECT_THAT(sink_->all<RequestError>(), IsEmpty());
  EXPECT_EQ(last_end().reason, FinishReason::kStop);
  EXPECT_TRUE(last_end().totals.has_value());
  EXPECT_TRUE(session_->done());
}

TEST_F(B02_StopString, AFailureOfTheOtherChoiceComesAfterTheStoppedOnesEnd) {
  terms_.stops = {"b"};
  terms_.choice_count = 3;
  open();
  text("ab", 0);
  text("x", 1);
  text("b", 2);
  take(scheduler::RequestFailed{internal_error("broken"), {}});
  const auto ends = sink_->all<ChoiceEnd>();
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(ends[0].choice, 0);
  EXPECT_EQ(ends[1].choice, 2);
  EXPECT_EQ(ends[1].totals, std::nullopt);
  EXPECT_TRUE(std::holds_alternative<RequestError>(sink_->events.back()));
}

TEST_F(B03_StopLogprobs, TokensAndLogprobsHaveOneLengthAndEndAtTheStop) {
  terms_.stops = {"no n"};
  terms_.reports_logprobs = true;
  open();
  text(" no no");
  finish(FinishReason::kCancelled);
  int32_t count = 0;
  for (const ChoiceText& piece : sink_->all<ChoiceText>()) {
    for (const TokenReport& token : piece.tokens) {
      ++count;
      EXPECT_EQ(token.logprob, -0.25F);
      EXPECT_THAT(token.top, SizeIs(1));
    }
  }
  EXPECT_EQ(count, last_end().totals->usage.completion_tokens);
}

TEST_F(B03_StopLogprobs, WithoutLogprobsThereAreNone) {
  open();
  text("a");
  EXPECT_EQ(sink_->all<ChoiceText>()[0].tokens[0].logprob, std::nullopt);
  EXPECT_THAT(sink_->all<ChoiceText>()[0].tokens[0].top, IsEmpty());
}

TEST_F(B03_StopLogprobs, AnEndTokenHasNoTextAndIsCounted) {
  open();
  token(kEnd);
  finish(FinishReason::kStop);
  EXPECT_EQ(sink_->text(), "");
  EXPECT_THAT(sink_->ids(), ElementsAre(kEnd));
  EXPECT_EQ(last_end().reason, FinishReason::kStop);
  EXPECT_EQ(last_end().stop_token_id, kEnd);
  EXPECT_EQ(last_end().totals->usage.completion_tokens, 1);
}

TEST_F(B03_StopLogprobs, AStopTokenOfTheRequestHasNoTextEither) {
  terms_.stop_token_ids = {'b', kEnd};
  open();
  text("ab");
  finish(FinishReason::kStop);
  EXPECT_EQ(sink_->text(), "a");
  EXPECT_EQ(last_end().stop_token_id, 'b');
}

TEST_F(B25_Latency, WhatTheMetricsCountIsAlsoRememberedAsRecent) {
  open();
  text("abc");
  finish(FinishReason::kLength);
  const TimePoint now = clock_.now();
  EXPECT_EQ(recent_.first_token.quantiles(now).count, 1);
  EXPECT_EQ(recent_.token_gap.quantiles(now).count, 2);
  EXPECT_EQ(recent_.per_output_token.quantiles(now).count, 1);
  EXPECT_NEAR(to_milliseconds(*recent_.per_output_token.quantiles(now).p50), to_milliseconds(kMs), 0.03);
}

TEST_F(B25_Latency, OneTokenHasNoTimePerTokenToRemember) {
  open();
  text("a");
  finish(FinishReason::kLength);
  EXPECT_EQ(recent_.first_token.quantiles(clock_.now()).count, 1);
  EXPECT_EQ(recent_.per_output_token.quantiles(clock_.now()).count, 0);
}

TEST_F(B25_Latency, a_OneTokenHasATtftAndNoTpot) {
  open();
  text("a");
  finish(FinishReason::kLength);
  EXPECT_EQ(last_end().totals->timing.ttft, kMs);
  EXPECT_EQ(last_end().totals->timing.tpot, Duration{});
  EXPECT_THAT(scrape(), HasSubstr("sluice_time_to_first_token_seconds_count 1"));
  EXPECT_THAT(scrape(), HasSubstr("sluice_time_per_output_token_seconds_count 0"));
}

TEST_F(B25_Latency, c_TpotIsLastMinusFirstOverTheGaps) {
  open();
  text("abcdefghijk");
  finish(FinishReason::kLength);
  EXPECT_EQ(last_end().totals->timing.tpot, kMs);
  EXPECT_THAT(scrape(), HasSubstr("sluice_time_per_output_token_seconds_count 1"));
  EXPECT_THAT(scrape(), HasSubstr("sluice_inter_token_latency_seconds_count 10"));
}

TEST_F(B25_Latency, TheTimingAddsUpToTheHandOver) {
  open();
  text("ab");
  finish(FinishReason::kLength);
  const RequestTiming timing = last_end().totals->timing;
  const TimePoint handed_over = clock_.now() + 5 * kMs;
  EXPECT_EQ(timing.delivery(handed_over), 5 * kMs);
  EXPECT_EQ(timing.end_to_end(handed_over), 7 * kMs);
  EXPECT_EQ(timing.queue, 2 * kMs);
}

TEST_F(B25_Latency, WithoutATokenTheTimeUpToTheEndIsComputed) {
  open();
  clock_.advance(3 * kMs);
  scheduler::Ledger ledger;
  ledger.arrival = terms_.arrival;
  ledger.finished = clock_.now();
  take(scheduler::RequestFailed{deadline_exceeded("in the queue"), ledger});
  EXPECT_EQ(sink_->all<RequestError>()[0].totals.timing.delivery(clock_.now()), Duration{});
  EXPECT_EQ(sink_->all<RequestError>()[0].totals.timing.ttft, Duration{});
}

TEST_F(Session, EveryChoiceEndsOnceAndOnlyTheLastHasTotals) {
  terms_.choice_count = 3;
  open();
  for (int32_t i = 0; i < 3; ++i) text("ab", i);
  for (const int32_t i : {1, 0, 2}) finish(FinishReason::kLength, i);
  const auto ends = sink_->all<ChoiceEnd>();
  ASSERT_THAT(ends, SizeIs(3));
  EXPECT_EQ(ends[0].totals, std::nullopt);
  EXPECT_EQ(ends[1].totals, std::nullopt);
  EXPECT_EQ(ends[2].totals->usage.completion_tokens, 6);
  EXPECT_EQ(ends[2].totals->usage.prompt_tokens, 2);
  EXPECT_TRUE(session_->done());
  EXPECT_THAT(scrape(), HasSubstr("outcome=\"length\"} 1"));
}

}  // namespace
}  // namespace sluice::server
