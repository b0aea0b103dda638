#include "bench/load_generator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice::bench {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(200);

}  // namespace

/// One request on its way. The target's threads touch the timer until the call has ended, the owner only afterwards.
class LoadGenerator::Flight final : public AnswerSink {
 public:
  Flight(LoadGenerator& owner, TimePoint due) : owner_(owner), due_(due), timer_(owner.clock_, due) {}

  void launch(Target& target, Ask ask) {
    call_ = target.make_call(std::move(ask), *this);
    sent_ = owner_.clock_.now();
  }
  void start() { call_->start(); }
  void cancel() { call_->cancel(); }

  void on_tokens(int32_t tokens, std::string_view) override { timer_.observe_tokens(tokens); }
  void on_usage(int32_t prompt_tokens, int32_t completion_tokens) override {
    timer_.observe_usage(prompt_tokens, completion_tokens);
  }
  void on_end(std::optional<Failure> failure) override {
    ended_ = owner_.clock_.now();
    failure_ = std::move(failure);
    owner_.note_end(this);
  }

  /// Once it has ended.
  RequestOutcome outcome() const {
    return {.failure = failure_, .timing = timer_.timing(), .due = due_, .slip = sent_ - due_, .took = ended_ - sent_};
  }

 private:
  LoadGenerator& owner_;
  const TimePoint due_;
  AnswerTimer timer_;
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

std::optional<TimePoint> LoadGenerator::next_due(const Phase& phase) const {
  if (stopped() || all_cancelled_ || (phase.requests && sent_in_phase_ >= *phase.requests)) return std::nullopt;
  const std::optional<TimePoint> due = phase.pacer.next_due(clock_.now(), static_cast<int32_t>(flights_.size()));
  if (due && phase.end && *due >= *phase.end) return std::nullopt;
  return due;
}

void LoadGenerator::send_due(Target& target, Phase& phase) {
  for (auto due = next_due(phase); due && *due <= clock_.now(); due = next_due(phase)) {
    send(target, phase, *due);
    phase.pacer.advance();
  }
}

void LoadGenerator::send(Target& target, const Phase& phase, TimePoint due) {
  flights_.push_back(std::make_unique<Flight>(*this, due));
  flights_.back()->launch(target, phase.make_ask(next_index_++));
  ++sent_in_phase_;
  flights_.back()->start();
}

void LoadGenerator::collect(const std::vector<Flight*>& ended, const Phase& phase) {
  for (const Flight* const flight : ended) {
    phase.on_outcome(flight->outcome());
    std::erase_if(flights_, [&](const std::unique_ptr<Flight>& other) { return other.get() == flight; });
  }
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
