#include "bench/load_generator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice::bench {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(200);

std::optional<TimePoint> earlier(std::optional<TimePoint> a, std::optional<TimePoint> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

/// One request on its way. The target's threads touch timer and content until the call has ended, the owner only
/// afterwards.
class LoadGenerator::Flight final : public AnswerSink {
 public:
  Flight(LoadGenerator& owner, Turn turn, bool keeps_content)
      : owner_(owner), turn_(std::move(turn)), keeps_content_(keeps_content), timer_(owner.clock_, turn_.due) {}

  void start(Target& target) {
    call_ = target.make_call(turn_.ask, *this);
    sent_ = owner_.clock_.now();
    call_->start();
  }
  void cancel() { call_->cancel(); }

  void on_piece(const Piece& piece) override {
    timer_.observe_tokens(piece.tokens);
    if (!keeps_content_) return;
    content_.text += piece.text;
    content_.ids.insert(content_.ids.end(), piece.ids.begin(), piece.ids.end());
  }
  void on_usage(int32_t prompt_tokens, int32_t completion_tokens) override {
    timer_.observe_usage(prompt_tokens, completion_tokens);
  }
  void on_end(std::optional<Failure> failure) override {
    ended_ = owner_.clock_.now();
    failure_ = std::move(failure);
    owner_.note_end(this);
  }

  // Once it has ended:
  TimePoint ended() const { return ended_; }
  bool has_failed() const { return failure_.has_value(); }
  const Turn& turn() const { return turn_; }
  const AnswerContent& content() const { return content_; }
  RequestOutcome outcome() const {
    const bool is_exact = turn_.ask.ignores_end_tokens && turn_.ask.stop_token_ids.empty();
    return {.failure = failure_,
            .timing = timer_.timing(),
            .due = turn_.due,
            .slip = sent_ - turn_.due,
            .took = ended_ - sent_,
            .conversation = turn_.conversation,
            .turn = turn_.turn,
            .output_tokens_asked = is_exact ? std::optional(turn_.ask.output_tokens) : std::nullopt};
  }

 private:
  LoadGenerator& owner_;
  const Turn turn_;
  const bool keeps_content_;
  AnswerTimer timer_;
  AnswerContent content_;
  TimePoint sent_;
  TimePoint ended_;
  std::optional<Failure> failure_;
  std::unique_ptr<Call> call_;
};

LoadGenerator::LoadGenerator(const Clock& clock) : clock_(clock) {}

LoadGenerator::~LoadGenerator() {
  SLUICE_CHECK(flights_.empty());
}

void LoadGenerator::run(Target& target, Phase& phase) {
  sent_in_phase_ = 0;
  all_cancelled_ = false;
  turns_ = {};
  next_conversation_ = (next_conversation_ + phase.numbers_align - 1) / phase.numbers_align * phase.numbers_align;
  TimePoint next_tick = clock_.now() + kTick;
  while (true) {
    send_due(target, phase);
    if (stopped()) cancel_all();
    const std::optional<TimePoint> due = next_due(phase);
    if (flights_.empty() && !due) return;
    collect(wait(std::min(due.value_or(next_tick), next_tick)), phase);
    if (clock_.now() < next_tick) continue;
    if (!phase.on_tick()) cancel_all();
    next_tick = clock_.now() + kTick;
  }
}

bool LoadGenerator::may_send(const Phase& phase) const {
  return !stopped() && !all_cancelled_ && (!phase.requests || sent_in_phase_ < *phase.requests);
}

std::optional<TimePoint> LoadGenerator::next_begin(const Phase& phase) const {
  // A conversation is in flight also while its reader thinks.
  const std::optional<TimePoint> due = phase.pacer.next_due(static_cast<int32_t>(flights_.size() + turns_.size()));
  return due && phase.end && *due >= *phase.end ? std::nullopt : due;
}

std::optional<TimePoint> LoadGenerator::next_turn(const Phase& phase) const {
  if (turns_.empty() || (phase.end && turns_.top().due >= *phase.end)) return std::nullopt;
  return turns_.top().due;
}

std::optional<TimePoint> LoadGenerator::next_due(const Phase& phase) const {
  if (!may_send(phase)) return std::nullopt;
  return earlier(next_begin(phase), next_turn(phase));
}

void LoadGenerator::send_due(Target& target, Phase& phase) {
  for (auto due = next_due(phase); due && *due <= clock_.now(); due = next_due(phase)) {
    ++sent_in_phase_;
    if (due == next_turn(phase)) {
      Turn turn = turns_.top();
      turns_.pop();
      send(target, std::move(turn), phase.has_turns);
      continue;
    }
    const uint64_t conversation = next_conversation_++;
    send(target, {.due = *due, .conversation = conversation, .turn = 0, .ask = phase.workload.first(conversation)},
         phase.has_turns);
    phase.pacer.advance();
  }
}

void LoadGenerator::send(Target& target, Turn turn, bool keeps_content) {
  flights_.push_back(std::make_unique<Flight>(*this, std::move(turn), keeps_content));
  flights_.back()->start(target);
}

void LoadGenerator::collect(const std::vector<Flight*>& ended, Phase& phase) {
  for (const Flight* const flight : ended) {
    phase.on_outcome(flight->outcome());
    if (!go_on(*flight, phase)) phase.pacer.ended(flight->ended());
    const auto place = std::find_if(flights_.begin(), flights_.end(),
                                    [&](const std::unique_ptr<Flight>& other) { return other.get() == flight; });
    std::swap(*place, flights_.back());
    flights_.pop_back();
  }
}

bool LoadGenerator::go_on(const Flight& flight, const Phase& phase) {
  if (!phase.has_turns || flight.has_failed()) return false;
  const Turn& last = flight.turn();
  std::optional<Ask> ask = phase.workload.next(last.conversation, last.turn + 1, last.ask, flight.content());
  if (!ask) return false;
  turns_.push({.due = flight.ended() + phase.think,
               .conversation = last.conversation,
               .turn = last.turn + 1,
               .ask = std::move(*ask)});
  return true;
}

std::vector<LoadGenerator::Flight*> LoadGenerator::wait(TimePoint until) {
  const MutexLock lock(mutex_);
  while (ended_.empty() && !(stopped_ && !all_cancelled_)) {
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) break;
  }
  return std::exchange(ended_, {});
}

void LoadGenerator::note_end(Flight* flight) {
  const MutexLock lock(mutex_);
  ended_.push_back(flight);
  changed_.notify_one();
}

void LoadGenerator::cancel_all() {
  if (std::exchange(all_cancelled_, true)) return;
  for (const auto& flight : flights_) flight->cancel();
}

void LoadGenerator::stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  changed_.notify_one();
}

bool LoadGenerator::stopped() const {
  const MutexLock lock(mutex_);
  return stopped_;
}

}  // namespace sluice::bench
