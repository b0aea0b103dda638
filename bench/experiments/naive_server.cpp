#include "bench/experiments/naive_server.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::bench {
namespace {

using simulation::ReplayedRequest;
using simulation::TracedArrival;

class NaiveServer {
 public:
  NaiveServer(const simulation::ArrivalSource& arrivals, const NaiveConfig& config)
      : arrivals_(arrivals), config_(config), free_(config.block_count), next_(arrivals(0)) {}

  NaiveReport run() {
    while (next_ || !running_.empty() || !evicted_.empty() || !waiting_.empty()) {
      const bool is_idle = running_.empty() && evicted_.empty() && waiting_.empty();
      if (is_idle) now_ = std::max(now_, next_->at);
      submit_due();
      admit();
      if (!running_.empty()) step();
    }
    report_.replay.duration = now_;
    return std::move(report_);
  }

 private:
  struct Sequence {
    size_t index = 0;
    TracedArrival arrival;
    int32_t drawn = 0;
    int32_t computed = 0;  // tokens with keys in the cache
    int32_t blocks = 0;
    Duration last{};  // when its last token came

    int32_t tokens() const { return arrival.prompt_tokens + drawn; }
    /// Everything but the token to be fed next has been computed: it draws one with each step.
    bool decodes() const { return drawn > 0 && computed == tokens() - 1; }
  };
  using Place = std::unique_ptr<Sequence>;

  int32_t blocks_for(int32_t tokens) const { return (tokens + config_.block_size - 1) / config_.block_size; }
  ReplayedRequest& result(const Sequence& sequence) { return report_.replay.requests[sequence.index]; }

  void submit_due() {
    for (; next_ && next_->at <= now_; next_ = arrivals_(report_.replay.requests.size())) {
      const size_t index = report_.replay.requests.size();
      report_.replay.requests.emplace_back();
      const bool fits = blocks_for(next_->prompt_tokens + next_->output_tokens) <= config_.block_count;
      if (!fits || static_cast<int32_t>(waiting_.size()) >= config_.max_queued_requests) {
        report_.replay.requests.back().end = ReplayedRequest::End::kRefused;
        continue;
      }
      auto sequence = std::make_unique<Sequence>();
      sequence->index = index;
      sequence->arrival = *next_;
      waiting_.push_back(std::move(sequence));
    }
  }

  void admit() {
    while (static_cast<int32_t>(running_.size()) < config_.max_running) {
      std::deque<Place>& queue = evicted_.empty() ? waiting_ : evicted_;
      if (queue.empty()) return;
      const int32_t blocks = blocks_for(queue.front()->tokens());
      if (blocks > free_) return;
      free_ -= blocks;
      queue.front()->blocks = blocks;
      running_.push_back(std::move(queue.front()));
      queue.pop_front();
    }
  }

  void step() {
    drawing_.clear();
    scheduler::StepLoad load;
    // By place, as throwing out the newest shortens the list.
    for (size_t place = 0; place < running_.size(); ++place) add_row(place, load);
    for (size_t place = 0; place < running_.size(); ++place) add_chunk(*running_[place], load);
    const Duration took = std::max(config_.prices.duration(load), Duration(1));
    now_ += took;
    ++report_.replay.steps;
    report_.replay.decode_rows += static_cast<uint64_t>(load.decode_rows);
    report_.replay.prefill_tokens += static_cast<uint64_t>(load.prefill_tokens);
    for (Sequence* const sequence : drawing_) draw(*sequence);
    std::erase_if(running_, [this](const Place& sequence) { return end_if_done(*sequence); });
  }

  void add_row(size_t place, scheduler::StepLoad& load) {
    Sequence& sequence = *running_[place];
    if (!sequence.decodes() || !take_block(place)) return;
    ++sequence.computed;
    ++load.decode_rows;
    load.context_tokens += sequence.computed;
    drawing_.push_back(&sequence);
  }

  void add_chunk(Sequence& sequence, scheduler::StepLoad& load) {
    const bool is_drawing = std::find(drawing_.begin(), drawing_.end(), &sequence) != drawing_.end();
    if (is_drawing || sequence.decodes()) return;
    const int32_t budget = config_.tokens_per_step - load.decode_rows - load.prefill_tokens;
    // What was drawn before it was thrown out is prompt now.
    const int32_t chunk = std::min(sequence.tokens() - sequence.computed, std::max(budget, 0));
    if (chunk == 0) return;
    load.prefill_tokens += chunk;
    load.prefill_pairs += int64_t{chunk} * sequence.computed + int64_t{chunk} * (chunk + 1) / 2;
    sequence.computed += chunk;
    if (sequence.computed == sequence.tokens()) drawing_.push_back(&sequence);
  }

  /// For the token that is fed. False when there is none, even with everyone newer thrown out.
  bool take_block(size_t place) {
    Sequence& sequence = *running_[place];
    if (blocks_for(sequence.tokens()) <= sequence.blocks) return true;
    while (free_ == 0 && running_.size() > place + 1) evict_newest();
    if (free_ == 0) return false;
    --free_;
    ++sequence.blocks;
    return true;
  }

  void evict_newest() {
    Place newest = std::move(running_.back());
    running_.pop_back();
    free_ += newest->blocks;
    ++report_.evictions;
    report_.computed_twice += newest->computed;
    newest->blocks = newest->computed = 0;
    evicted_.push_front(std::move(newest));
  }

  void draw(Sequence& sequence) {
    ReplayedRequest& request = result(sequence);
    const Duration since = now_ - sequence.arrival.at;
    if (!request.ttft) request.ttft = since;
    if (sequence.drawn > 0) request.longest_gap = std::max(request.longest_gap, now_ - sequence.last);
    request.last = since;
    request.output_tokens = ++sequence.drawn;
    sequence.last = now_;
  }

  bool end_if_done(const Sequence& sequence) {
    if (sequence.drawn < sequence.arrival.output_tokens) return false;
    free_ += sequence.blocks;
    result(sequence).end = ReplayedRequest::End::kFinished;
    return true;
  }

  const simulation::ArrivalSource& arrivals_;
  const NaiveConfig config_;
  std::vector<Place> running_;      // in order of admission
  std::deque<Place> evicted_;       // goes before everyone else
  std::deque<Place> waiting_;       // never started
  std::vector<Sequence*> drawing_;  // a token in this step
  int32_t free_;                    // blocks
  Duration now_{};
  std::optional<TracedArrival> next_;
  NaiveReport report_;
};

}  // namespace

NaiveReport run_naive(const simulation::ArrivalSource& arrivals, const NaiveConfig& config) {
  return NaiveServer(arrivals, config).run();
}

}  // namespace sluice::bench
