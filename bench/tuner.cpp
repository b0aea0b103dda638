#include "bench/tuner.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/tuner_arms.h"

namespace sluice::bench {
namespace {

constexpr double kSearchShare = 0.65;    // of the budget; the rest tells the best apart
constexpr double kTieMargin = 0.02;      // a smaller gain is not worth a larger batch
constexpr double kContenderShare = 0.9;  // of the best's goodput: below, more trials would hardly change the answer
constexpr size_t kContendersMax = 4;
constexpr double kScaleConfidence = 0.99;
constexpr double kFinestStep = 1.2;  // ratio of neighbours of max_running
constexpr int32_t kCoarseStep = 4;
constexpr size_t kBatchesMin = 3;
constexpr size_t kBatchesMax = 5;
constexpr size_t kBatchesOfScout = 3;
constexpr double kPrecise = 0.03;  // half an interval, as a share of the mean
constexpr int kTrialsBetweenChecks = 6;

bool is_precise(const Estimate& estimate) {
  const Interval interval = interval_of(estimate);
  return interval.high - interval.low <= 2 * kPrecise * estimate.mean;
}

class Tuner {
 public:
  Tuner(const TunerConfig& config, const RunTrial& run, const Clock& clock, const TuneProgress& progress)
      : config_(config), run_(run), clock_(clock), progress_(progress), start_(clock.now()) {}

  TuneOutcome tune() {
    const TimePoint end = start_ + config_.budget - config_.last_word;
    deadline_ = end;
    const bool is_searched = search_running();
    if (is_searched) {
      deadline_ = std::min(end, start_ + std::chrono::duration_cast<Duration>(config_.budget * kSearchShare));
      search_others();
      deadline_ = end;
      is_scouting_ = false;
      if (failure_.ok()) tell_apart();
    }
    return outcome(is_searched);
  }

 private:
  /// Until nothing moves any more, or the search's share of the time is used up.
  void search_others() {
    while (true) {
      const LimitSetting before = arms_.best();
      if (!climb_targets() || !climb_tokens() || arms_.best() == before) return;
      if (!search_neighbours()) return;
    }
  }

  // --- max_running ---

  bool search_running() {
    std::vector<LimitSetting> lines = config_.starts;
    for (int32_t running = 1; !lines.empty(); running = std::min(running * kCoarseStep, config_.max_running_max)) {
      std::vector<LimitSetting> rising;
      for (const LimitSetting& line : lines) {
        const LimitSetting setting = with_running(line, running);
        // A single sequence hardly meets other limits; one of the starts tells all.
        const bool is_told = running == 1 && line != lines.front() && config_.max_running_max > 1;
        if (!is_told && !measure(setting, "the scale")) return false;
        // Once past the knee there is no way up again, so a doubt of one in a hundred is what a whole line may cost.
        const bool is_below =
            !is_told && is_surely_greater(arms_.goodput(arms_.best()), arms_.goodput(setting), kScaleConfidence);
        if (!is_below) rising.push_back(line);
      }
      if (running == config_.max_running_max) break;
      lines = rising;
    }
    return narrow_running();
  }

  /// Upwards first: if that is better, the best does not lie below.
  bool narrow_running() {
    while (true) {
      const LimitSetting best = arms_.best();
      const std::vector<int32_t> next = between_neighbours(tried_beside(best), best.max_running);
      if (next.empty()) return true;
      for (const int32_t running : next) {
        const LimitSetting setting = with_running(best, running);
        if (!measure(setting, "between neighbours")) return false;
        if (arms_.best() == setting) break;
      }
    }
  }

  /// The values of max_running that were tried with the same other limits.
  std::set<int32_t> tried_beside(const LimitSetting& setting) const {
    std::set<int32_t> tried;
    for (const LimitSetting& other : arms_.settings()) {
      if (with_running(other, setting.max_running) == setting) tried.insert(other.max_running);
    }
    return tried;
  }

  static std::vector<int32_t> between_neighbours(const std::set<int32_t>& tried, int32_t best) {
    std::vector<int32_t> found;
    const auto place = tried.find(best);
    const auto add = [&](int32_t low, int32_t high) {
      const int32_t middle = geometric_middle(low, high);
      if (high > low * kFinestStep && middle != low && middle != high) found.push_back(middle);
    };
    if (std::next(place) != tried.end()) add(best, *std::next(place));
    if (place != tried.begin()) add(*std::prev(place), best);
    return found;
  }

  static int32_t geometric_middle(int32_t low, int32_t high) {
    return static_cast<int32_t>(std::lround(std::sqrt(static_cast<double>(low) * static_cast<double>(high))));
  }

  /// After another limit moved: uphill from where max_running is.
  bool search_neighbours() {
    for (const double factor : {kFinestStep, 1 / kFinestStep}) {
      while (true) {
        const LimitSetting best = arms_.best();
        const auto running = static_cast<int32_t>(std::lround(best.max_running * factor));
        const LimitSetting next = with_running(best, std::min(running, config_.max_running_max));
        if (running < 1 || next == best || next.tokens_per_step < next.max_running) break;
        if (!arms_.has(next) && !measure(next, "max running again")) return false;
        if (arms_.best() != next) break;
      }
    }
    return true;
  }

  static LimitSetting with_running(LimitSetting setting, int32_t running) {
    setting.max_running = running;
    return setting;
  }

  // --- The other two ---

  bool climb_targets() {
    return climb(
        config_.tpot_target_ms, "TPOT target",
        [](LimitSetting& setting, double value) { setting.tpot_target_ms = value; },
        [](const LimitSetting& setting) { return setting.tpot_target_ms; });
  }

  bool climb_tokens() {
    return climb(
        config_.tokens_per_step, "tokens per step",
        [](LimitSetting& setting, int32_t value) { setting.tokens_per_step = value; },
        [](const LimitSetting& setting) { return setting.tokens_per_step; });
  }

  /// From the best both ways along a list, each as long as it gets better.
  template <typename Value, typename Set, typename Get>
  bool climb(const std::vector<Value>& values, const std::string& why, Set set, Get get) {
    for (const int direction : {-1, 1}) {
      while (true) {
        const LimitSetting best = arms_.best();
        const auto here = std::find(values.begin(), values.end(), get(best)) - values.begin();
        const auto next = here + direction;
        if (next < 0 || next >= static_cast<std::ptrdiff_t>(values.size())) break;
        LimitSetting setting = best;
        set(setting, values[static_cast<size_t>(next)]);
        if (setting.tokens_per_step < setting.max_running) break;
        if (!arms_.has(setting) && !measure(setting, why)) return false;
        if (arms_.best() != setting) break;
      }
    }
    return true;
  }

  // --- Trials ---

  /// False when there is no time left, or a trial failed.
  bool measure(const LimitSetting& setting, const std::string& why) {
    if (!arms_.empty() && ++trials_since_check_ > kTrialsBetweenChecks) {
      if (!try_once(arms_.best(), "the best again, to see drift")) return false;
      trials_since_check_ = 0;
    }
    return try_once(setting, why);
  }

  bool try_once(const LimitSetting& setting, const std::string& why) {
    const Duration left = deadline_ - clock_.now();
    if (left <= Duration{}) return false;
    progress_(setting, why);
    const TrialLength length{.time_max = left, .is_decided = [&](const std::vector<TrialBatch>& batches) {
                               return is_decided(setting, batches);
                             }};
    Result<Trial> trial = run_(setting, length);
    if (!trial.ok()) {
      failure_ = trial.status();
      return false;
    }
    // A trial that the deadline cut short says too little to be compared.
    if (trial->batches.size() < 2) return false;
    order_.push_back(setting);
    arms_.add(setting, std::move(*trial));
    return true;
  }

  bool is_decided(const LimitSetting& setting, const std::vector<TrialBatch>& batches) const {
    if (batches.size() < 2) return false;
    const Estimate goodput = goodput_of(batches);
    if (!arms_.empty() && arms_.best() != setting && is_surely_greater(arms_.goodput(arms_.best()), goodput))
      return true;
    if (batches.size() < kBatchesMin) return false;
    return batches.size() >= (is_scouting_ ? kBatchesOfScout : kBatchesMax) || is_precise(goodput);
  }

  // --- The end ---

  /// The best few, and the smallest batch that may be as good.
  std::vector<LimitSetting> contenders() const {
    const LimitSetting best = arms_.best();
    std::vector<LimitSetting> near;
    for (const LimitSetting& other : arms_.not_below(best)) {
      if (arms_.goodput(other).mean >= kContenderShare * arms_.goodput(best).mean) near.push_back(other);
    }
    std::vector<LimitSetting> found{best};
    const auto smallest = std::min_element(near.begin(), near.end());
    if (smallest != near.end() && smallest->max_running < best.max_running) found.push_back(*smallest);
    for (const LimitSetting& other : near) {
      const bool is_new = std::find(found.begin(), found.end(), other) == found.end();
      if (is_new && found.size() < kContendersMax) found.push_back(other);
    }
    return found;
  }

  /// Each contender in turn, there and back, so that a drift of the machine falls on all of them alike.
  void tell_apart() {
    if (arms_.goodput(arms_.best()).mean <= 0 || !look_past_the_knee_again()) return;
    for (bool is_forward = true; !are_told_apart(); is_forward = !is_forward) {
      std::vector<LimitSetting> round = contenders();
      if (!is_forward) std::reverse(round.begin(), round.end());
      for (const LimitSetting& setting : round) {
        if (!try_once(setting, "against the other good ones")) return;
      }
    }
  }

  /// What was hopeless in one short trial gets another one where it matters most: a neighbour's load may have hit it.
  bool look_past_the_knee_again() {
    const LimitSetting best = arms_.best();
    const std::set<int32_t> tried = tried_beside(best);
    const auto next = tried.upper_bound(best.max_running);
    if (next == tried.end()) return true;
    const LimitSetting past = with_running(best, *next);
    return arms_.trial_count(past) > 1 || try_once(past, "past the knee once more");
  }

  bool are_told_apart() const {
    const std::vector<LimitSetting> left = contenders();
    return std::all_of(left.begin(), left.end(), [this](const LimitSetting& setting) {
      return arms_.trial_count(setting) >= 2 && is_precise(arms_.goodput(setting));
    });
  }

  /// The smallest batch of those that do as well as the best.
  LimitSetting chosen() const {
    const LimitSetting best = arms_.best();
    LimitSetting chosen = best;
    for (const LimitSetting& other : arms_.not_below(best)) {
      const bool is_tie = arms_.goodput(other).mean >= (1 - kTieMargin) * arms_.goodput(best).mean;
      if (is_tie && other.max_running < chosen.max_running) chosen = other;
    }
    return chosen;
  }

  TuneOutcome outcome(bool is_searched) const {
    TuneOutcome outcome;
    outcome.order = order_;
    outcome.failure = failure_;
    outcome.drift = arms_.drift();
    outcome.elapsed_s = to_seconds(clock_.now() - start_);
    if (arms_.empty()) return outcome;
    outcome.arms = arms_.arms();
    const LimitSetting best = arms_.best();
    if (arms_.goodput(best).mean <= 0) {
      if (is_searched) outcome.verdict = TuneVerdict::kNothingGood;
      return outcome;
    }
    outcome.best = chosen();
    if (!is_searched) return outcome;
    for (const LimitSetting& other : arms_.not_below(best)) {
      const double mean = arms_.goodput(other).mean;
      if (mean >= kContenderShare * arms_.goodput(best).mean && mean < (1 - kTieMargin) * arms_.goodput(best).mean) {
        outcome.not_told_apart.push_back(other);
      }
    }
    outcome.verdict = outcome.not_told_apart.empty() ? TuneVerdict::kFound : TuneVerdict::kNotToldApart;
    return outcome;
  }

  const TunerConfig& config_;
  const RunTrial& run_;
  const Clock& clock_;
  const TuneProgress& progress_;
  const TimePoint start_;
  TimePoint deadline_;
  TunerArms arms_;
  std::vector<LimitSetting> order_;
  bool is_scouting_ = true;
  int trials_since_check_ = 0;
  Status failure_;
};

}  // namespace

TuneOutcome tune(const TunerConfig& config, const RunTrial& run, const Clock& clock, const TuneProgress& progress) {
  return Tuner(config, run, clock, progress).tune();
}

}  // namespace sluice::bench
