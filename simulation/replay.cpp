#include "simulation/replay.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <utility>

#include "base/counter_random.h"
#include "kvcache/block_key.h"
#include "kvcache/shared_block_pool.h"
#include "scheduler/scheduler.h"

namespace sluice::simulation {
namespace {

constexpr int32_t kStopToken = 1;
constexpr int32_t kOtherToken = 2;
constexpr int32_t kFirstPromptToken = 3;

class Replay {
 public:
  Replay(const ArrivalSource& arrivals, const ReplayConfig& config)
      : arrivals_(arrivals),
        config_(config),
        hasher_(std::array<std::byte, kvcache::BlockHasher::kSecretBytesMin>{}, "replay"),
        pool_(config.block_count, config.block_size),
        scheduler_(config.scheduler, pool_, hasher_, /*reuses_outputs=*/false) {}

  ReplayReport run();

 private:
  struct Launched {
    const scheduler::StepPlan* plan = nullptr;
    TimePoint ends{};
  };
  struct Live {
    size_t index = 0;
    TracedArrival arrival;
    std::vector<std::optional<TimePoint>> last_token;  // [sequence]
  };

  void submit_due();
  void submit(const TracedArrival& arrival);
  std::vector<int32_t> prompt_of(const TracedArrival& arrival, uint64_t index) const;
  bool launch_next();
  bool may_launch_another() const { return static_cast<int32_t>(launched_.size()) <= config_.steps_ahead; }
  void collect_oldest();
  engine::StepOutput draw(const scheduler::StepPlan& plan) const;
  void take_events();
  void on(Live& live, const scheduler::TokenEvent& event);
  void close_gaps();

  ReplayedRequest& result(const Live& live) { return report_.requests[live.index]; }

  const ArrivalSource& arrivals_;
  const ReplayConfig config_;
  const kvcache::BlockHasher hasher_;
  kvcache::SharedBlockPool pool_;
  scheduler::Scheduler scheduler_;
  ManualClock clock_;
  TimePoint began_ = clock_.now();
  std::optional<TracedArrival> next_;
  uint64_t asked_ = 0;
  std::map<RequestId, Live> live_;
  std::deque<Launched> launched_;  // oldest first
  TimePoint device_free_ = began_;
  ReplayReport report_;
};

ReplayReport Replay::run() {
  next_ = arrivals_(asked_++);
  while ((next_ || scheduler_.has_work() || !launched_.empty()) && report_.steps < config_.steps_max) {
    const bool is_idle = !scheduler_.has_work() && launched_.empty();
    if (is_idle && next_) clock_.advance(std::max(Duration{}, began_ + next_->at - clock_.now()));
    submit_due();
    const bool has_launched = launch_next();
    if (!launched_.empty() && !(has_launched && may_launch_another())) collect_oldest();
    take_events();
  }
  close_gaps();
  report_.duration = clock_.now() - began_;
  scheduler_.fail_all(unavailable("the replay is over"), clock_.now());
  return std::move(report_);
}

void Replay::submit_due() {
  while (next_ && began_ + next_->at <= clock_.now() && (!config_.waits_for_room || scheduler_.room() > 0)) {
    submit(*next_);
    next_ = arrivals_(asked_++);
  }
}

void Replay::submit(const TracedArrival& arrival) {
  const size_t index = report_.requests.size();
  report_.requests.emplace_back();
  scheduler::Submission submission;
  submission.id = RequestId{index + 1};
  submission.prompt = prompt_of(arrival, index);
  submission.seed = index;
  submission.max_new_tokens = arrival.max_tokens;
  submission.stop_token_ids = {kStopToken};
  submission.sequence_count = arrival.sequence_count;
  submission.tenant = arrival.tenant;
  submission.priority = arrival.priority;
  submission.arrival = began_ + arrival.at;
  if (arrival.deadline) submission.deadline = submission.arrival + *arrival.deadline;
  if (config_.shares_prefixes) {
    submission.prefix_keys = scheduler::PrefixKeys{
        .root = hasher_.root(arrival.tenant),
        .blocks = kvcache::prompt_keys(hasher_, arrival.tenant, submission.prompt, config_.block_size)};
  }
  live_.emplace(submission.id,
                Live{.index = index,
                     .arrival = arrival,
                     .last_token = std::vector<std::optional<TimePoint>>(static_cast<size_t>(arrival.sequence_count))});
  scheduler_.submit(std::move(submission), clock_.now());
}

std::vector<int32_t> Replay::prompt_of(const TracedArrival& arrival, uint64_t index) const {
  std::vector<int32_t> prompt;
  for (int32_t i = 0; i < arrival.prompt_tokens; ++i) {
    const uint64_t seed = i < arrival.shared_tokens ? 0 : index + 1;
    prompt.push_back(kFirstPromptToken + static_cast<int32_t>(random_bits(seed, static_cast<uint64_t>(i)) >> 34));
  }
  return prompt;
}

bool Replay::launch_next() {
  if (!scheduler_.may_plan()) return false;
  const scheduler::StepPlan& plan = scheduler_.plan(clock_.now());
  for (const scheduler::RunningRow& row : scheduler_.running()) {
    if (row.sequence->was_paused()) result(live_.at(row.request->id())).was_paused = true;
  }
  if (plan.empty()) return false;
  clock_.advance(config_.host_time);
  const Duration took = std::max(config_.prices.duration(scheduler::load_of(plan)), Duration(1));
  device_free_ = std::max(device_free_, clock_.now()) + took;
  launched_.push_back({.plan = &plan, .ends = device_free_});
  return true;
}

void Replay::collect_oldest() {
  const scheduler::StepPlan& plan = *launched_.front().plan;
  clock_.advance(std::max(Duration{}, launched_.front().ends - clock_.now()));
  launched_.pop_front();
  ++report_.steps;
  report_.decode_rows += static_cast<uint64_t>(plan.decode_rows);
  report_.prefill_tokens += static_cast<uint64_t>(plan.prefill_tokens);
  report_.pauses += static_cast<uint64_t>(plan.paused_rows);
  scheduler_.commit(plan, draw(plan), clock_.now());
}

engine::StepOutput Replay::draw(const scheduler::StepPlan& plan) const {
  engine::StepOutput output;
  for (const scheduler::Slice& slice : plan.slices) {
    if (!slice.draws) continue;
    if (slice.sequence == nullptr) {
      output.samples.emplace_back();  // for one that has ended
      continue;
    }
    const Live& live = live_.at(slice.sequence->submission().id);
    const auto drawn = static_cast<int32_t>(slice.sequence->output().size()) + 1;
    engine::SampledToken sampled;
    // At its cap the scheduler ends it.
    const bool stops = drawn == live.arrival.output_tokens && drawn < live.arrival.max_tokens;
    sampled.token = stops ? kStopToken : kOtherToken;
    output.samples.push_back(std::move(sampled));
  }
  return output;
}

void Replay::take_events() {
  for (const scheduler::TokenEvent& event : scheduler_.take_events()) {
    const auto live = live_.find(event.request);
    if (live == live_.end()) continue;
    on(live->second, event);
    if (result(live->second).end != ReplayedRequest::End::kUnfinished) live_.erase(live);
  }
}

void Replay::on(Live& live, const scheduler::TokenEvent& event) {
  ReplayedRequest& request = result(live);
  const TimePoint arrival = began_ + live.arrival.at;
  if (const auto* sampled = std::get_if<scheduler::TokenSampled>(&event.what)) {
    ++request.output_tokens;
    if (!request.ttft) request.ttft = sampled->time - arrival;
    request.last = sampled->time - arrival;
    std::optional<TimePoint>& last = live.last_token[static_cast<size_t>(sampled->sequence)];
    if (last) request.longest_gap = std::max(request.longest_gap, sampled->time - *last);
    last = sampled->time;
  } else if (const auto* finished = std::get_if<scheduler::SequenceFinished>(&event.what)) {
    if (finished->sequence == 0) request.ledger = finished->ledger;
    live.last_token[static_cast<size_t>(finished->sequence)].reset();
    if (--live.arrival.sequence_count == 0) request.end = ReplayedRequest::End::kFinished;
  } else if (std::holds_alternative<scheduler::RequestFailed>(event.what)) {
    request.end = ReplayedRequest::End::kExpired;
  } else if (std::holds_alternative<scheduler::Refused>(event.what)) {
    request.end = ReplayedRequest::End::kRefused;
  }
}

/// Who waits for its next token at the end has a gap too.
void Replay::close_gaps() {
  for (const auto& [id, live] : live_) {
    for (const std::optional<TimePoint>& last : live.last_token) {
      if (last) result(live).longest_gap = std::max(result(live).longest_gap, clock_.now() - *last);
    }
  }
}

}  // namespace

ReplayReport replay(const ArrivalSource& arrivals, const ReplayConfig& config) {
  return Replay(arrivals, config).run();
}

}  // namespace sluice::simulation
