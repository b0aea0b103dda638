#include "bench/load_generator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice::bench {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(200);

}  // namespace

/// One request on its way. gRPC's threads touch the stopwatch until the call has ended, the owner only afterwards.
struct LoadGenerator::Flight {
  Flight(const Clock& clock, TimePoint due) : stopwatch(clock, due) {}

  client::StreamStopwatch stopwatch;
  int32_t prompt_tokens = 0;
  TimePoint sent;
  Duration slip{};
  Duration took{};
  std::unique_ptr<client::StreamCall> call;
};

LoadGenerator::LoadGenerator(const Clock& clock) : clock_(clock) {}

LoadGenerator::~LoadGenerator() {
  SLUICE_CHECK(flights_.empty());
}

void LoadGenerator::run(client::InferenceClient& client, Phase& phase) {
  sent_in_phase_ = 0;
  TimePoint next_tick = clock_.now() + kTick;
  while (true) {
    send_due(client, phase);
    if (stopped()) cancel_all();
    const std::optional<TimePoint> due = next_due(phase);
    if (flights_.empty() && !due) return;
    collect(wait(std::min(due.value_or(next_tick), next_tick)), phase);
    if (clock_.now() < next_tick) continue;
    phase.on_tick();
    next_tick = clock_.now() + kTick;
  }
}

std::optional<TimePoint> LoadGenerator::next_due(const Phase& phase) const {
  if (stopped() || (phase.requests && sent_in_phase_ >= *phase.requests)) return std::nullopt;
  const std::optional<TimePoint> due = phase.pacer.next_due(clock_.now(), static_cast<int32_t>(flights_.size()));
  if (due && phase.end && *due >= *phase.end) return std::nullopt;
  return due;
}

void LoadGenerator::send_due(client::InferenceClient& client, Phase& phase) {
  for (auto due = next_due(phase); due && *due <= clock_.now(); due = next_due(phase)) {
    send(client, phase, *due);
    phase.pacer.advance();
  }
}

void LoadGenerator::send(client::InferenceClient& client, const Phase& phase, TimePoint due) {
  v1::CompleteRequest request = phase.make_request(next_index_++);
  auto owned = std::make_unique<Flight>(clock_, due);
  Flight* const flight = owned.get();
  client::StreamCall::Handlers handlers{
      .on_event = [flight](const v1::CompleteEvent& event) { flight->stopwatch.observe(event); },
      .on_done =
          [this, flight](const Status& status) {
            flight->took = clock_.now() - flight->sent;
            const MutexLock lock(mutex_);
            ended_.push_back({flight, status});
            changed_.notify_one();
          }};
  flight->prompt_tokens = request.token_ids().ids_size();
  flight->call = client.make_stream(std::move(request), std::move(handlers), phase.tenant);
  flight->sent = clock_.now();
  flight->slip = flight->sent - due;
  flights_.push_back(std::move(owned));
  ++sent_in_phase_;
  flight->call->start();
}

void LoadGenerator::collect(const std::vector<Ended>& ended, const Phase& phase) {
  for (const Ended& end : ended) {
    phase.on_outcome({.status = end.status,
                      .timing = end.flight->stopwatch.timing(),
                      .prompt_tokens = end.flight->prompt_tokens,
                      .slip = end.flight->slip,
                      .took = end.flight->took});
    std::erase_if(flights_, [&](const std::unique_ptr<Flight>& other) { return other.get() == end.flight; });
  }
}

std::vector<LoadGenerator::Ended> LoadGenerator::wait(TimePoint until) {
  const MutexLock lock(mutex_);
  while (ended_.empty() && !(stopped_ && !all_cancelled_)) {
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) break;
  }
  return std::exchange(ended_, {});
}

void LoadGenerator::cancel_all() {
  if (std::exchange(all_cancelled_, true)) return;
  for (const auto& flight : flights_) flight->call->cancel();
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
