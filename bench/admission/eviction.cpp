#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "bench/admission/saturation.h"

namespace sluice::bench {
namespace {

/// Lock-step as the sketch in design.md: a step computes prompts up to the budget, in order, and a token of everyone
/// else.
class EvictingServer {
 public:
  EvictingServer(const LoadMix& mix, const SaturationConfig& config)
      : mix_(mix), config_(config), free_(config.block_count) {}

  SaturationFigures run() {
    for (uint64_t step = 0; step < config_.steps; ++step) {
      admit();
      this->step();
    }
    return figures();
  }

 private:
  struct Sequence {
    simulation::TracedArrival arrival;
    int32_t drawn = 0;
    int32_t held = 0;        // blocks
    int32_t to_prefill = 0;  // tokens
    std::optional<double> first_ms;
    double last_ms = 0;
    double longest_gap_ms = 0;

    int32_t tokens() const { return arrival.prompt_tokens + drawn; }
  };
  using Place = std::unique_ptr<Sequence>;

  int32_t blocks_for(int32_t tokens) const { return (tokens + config_.block_size - 1) / config_.block_size; }

  Place take_next() {
    if (!evicted_.empty()) {
      Place next = std::move(evicted_.front());
      evicted_.pop_front();
      return next;
    }
    auto fresh = std::make_unique<Sequence>();
    fresh->arrival = mix_.arrival(config_.seed, next_index_++);
    return fresh;
  }

  void admit() {
    while (static_cast<int32_t>(running_.size()) < config_.max_running) {
      Place next = take_next();
      const int32_t blocks = blocks_for(next->tokens());
      if (free_ <= blocks) {
        evicted_.push_front(std::move(next));
        return;
      }
      next->held = blocks;
      next->to_prefill = next->tokens();
      free_ -= blocks;
      running_.push_back(std::move(next));
    }
  }

  void step() {
    int32_t budget = config_.tokens_per_step;
    active_.clear();
    for (size_t i = 0; i < running_.size(); ++i) {
      Sequence& sequence = *running_[i];
      const int32_t chunk = std::min(sequence.to_prefill, budget);
      sequence.to_prefill -= chunk;
      budget -= chunk;
      if (sequence.to_prefill == 0 && take_block(i)) active_.push_back(&sequence);
    }
    scheduler::StepLoad load;
    load.prefill_tokens = config_.tokens_per_step - budget;
    load.decode_rows = static_cast<int32_t>(active_.size());
    clock_ms_ += config_.prices.milliseconds(load);
    rows_ += load.decode_rows;
    for (Sequence* sequence : active_) draw(*sequence);
    std::erase_if(running_, [&](const Place& place) { return end_if_done(*place); });
  }

  /// False when there is none, even with everyone newer thrown out.
  bool take_block(size_t place) {
    Sequence& sequence = *running_[place];
    if (blocks_for(sequence.tokens() + 1) <= sequence.held) return true;
    while (free_ == 0 && running_.size() > place + 1) evict_newest();
    if (free_ == 0) return false;
    --free_;
    ++sequence.held;
    return true;
  }

  void evict_newest() {
    Place newest = std::move(running_.back());
    running_.pop_back();
    std::erase(active_, newest.get());
    free_ += newest->held;
    newest->held = 0;
    computed_twice_ += newest->tokens();
    evicted_.push_front(std::move(newest));
  }

  void draw(Sequence& sequence) const {
    ++sequence.drawn;
    if (sequence.first_ms) {
      sequence.longest_gap_ms = std::max(sequence.longest_gap_ms, clock_ms_ - sequence.last_ms);
    } else {
      sequence.first_ms = clock_ms_;
    }
    sequence.last_ms = clock_ms_;
  }

  bool end_if_done(const Sequence& sequence) {
    if (sequence.drawn < sequence.arrival.output_tokens) return false;
    free_ += sequence.held;
    tokens_ += sequence.drawn;
    gaps_.push_back(sequence.longest_gap_ms);
    if (sequence.drawn > 1) tpots_.push_back((sequence.last_ms - *sequence.first_ms) / (sequence.drawn - 1));
    ++finished_;
    return true;
  }

  void close_gap(const Sequence& sequence) {
    if (sequence.first_ms) gaps_.push_back(std::max(sequence.longest_gap_ms, clock_ms_ - sequence.last_ms));
  }

  static double p99_of(std::vector<double>& values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(0.99 * static_cast<double>(values.size()))];
  }

  SaturationFigures figures() {
    for (const Place& sequence : running_) close_gap(*sequence);
    for (const Place& sequence : evicted_) close_gap(*sequence);
    return {.tokens_per_ms = static_cast<double>(tokens_) / clock_ms_,
            .rows = static_cast<double>(rows_) / static_cast<double>(config_.steps),
            .tpot_p99_ms = p99_of(tpots_),
            .gap_p99_ms = p99_of(gaps_),
            .finished = finished_,
            .computed_twice = computed_twice_};
  }

  const LoadMix& mix_;
  const SaturationConfig& config_;
  std::vector<Place> running_;  // in order of admission
  std::deque<Place> evicted_;   // goes before everyone else
  std::vector<Sequence*> active_;
  uint64_t next_index_ = 0;
  int32_t free_;
  double clock_ms_ = 0;
  int64_t rows_ = 0;
  int64_t tokens_ = 0;
  int64_t finished_ = 0;
  int64_t computed_twice_ = 0;
  std::vector<double> gaps_;
  std::vector<double> tpots_;
};

}  // namespace

SaturationFigures saturate_with_eviction(const LoadMix& mix, const SaturationConfig& config) {
  return EvictingServer(mix, config).run();
}

}  // namespace sluice::bench
